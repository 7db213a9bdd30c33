package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// TestComingFromLowkiq does what docs/ordered.md says to who comes from lowkiq, by the words that stand there: a worker of lowkiq's puts each of its payloads here, some
// are put as lines, and one is planned. What comes to the child is what lowkiq's batch was: of one id, each payload once, in the order of the scores.
func TestComingFromLowkiq(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/ordered.md"))(t)
	_, section, _ := strings.Cut(string(text), "### Coming from lowkiq\n")
	section, _, _ = strings.Cut(section, "\n## ")
	said := map[string][]string{} // what there is in lowkiq → the words in code of what is here
	code := regexp.MustCompile("`([^`]*)`")
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		for _, word := range code.FindAllStringSubmatch(row[2], -1) {
			said[row[1]] = append(said[row[1]], word[1])
		}
	}
	put, later := said["`perform_async([{id:, score:, payload:}])`"], said["`perform_in` of each"]
	if len(put) < 5 || put[1] != "put --jobs" || !slices.Equal(put[2:5], []string{"key", "score", "data"}) || !slices.Equal(later, []string{"--delay"}) ||
		!slices.Equal(said["`max_retry_count` 25"], []string{"retries"}) {
		t.Fatalf("the document says other words now: %q", said)
	}

	s, c := scriptOn(t, "")
	for _, payload := range [][]string{{"17", "3", `{"do":"c"}`}, {"17", "1", `{"do":"a"}`}, {"17", "2", `{"do":"a"}`}, {"18", "1", "1"}} {
		command := strings.TrimPrefix(put[0], "oarlock ")
		for i, name := range []string{"ID", "N", "DATA"} {
			command = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllLiteralString(command, payload[i])
		}
		s.says(t, 0, strings.Replace(command, "QUEUE", "orders", 1))
	}
	s.stdin = `{"key":"17","score":2,"data":{"do":"b"},"merge":"set"}` + "\n" + `{"key":"19","score":1,"data":1,"merge":"set"}` + "\n"
	s.says(t, 0, put[1]+" --file - orders")
	s.says(t, 0, "put orders --key 20 --score 1 --merge set 1 "+later[0]+" 1h")

	session := c.Session("w")
	defer session.Close()
	reply, err := session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"orders"}, Count: 9})
	if err != nil || len(reply.Broken) > 0 {
		t.Fatalf("%+v, %v", reply.Broken, err)
	}
	got := map[string]string{}
	for _, job := range reply.Jobs {
		got[job.Key] = string(job.Data)
		if job.Retries != 25 || job.Remaining != 25 {
			t.Errorf("of %s %d of %d retries remain", job.Key, job.Remaining, job.Retries)
		}
		if job.Key == "17" && !slices.Equal(job.Scores, []float64{1, 2, 3}) {
			t.Errorf("the scores are %v", job.Scores)
		}
	}
	if len(got) != 3 || got["17"] != `[{"do":"a"},{"do":"b"},{"do":"c"}]` || got["18"] != "[1]" || got["19"] != "[1]" {
		t.Errorf("what runs has %q", got)
	}
}
