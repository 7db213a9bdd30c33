package cli

import (
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue"
)

// What a job and its child said is shown without secrets, in words and as JSON, whichever command shows it; the data of the JSON is whole, for programs that put it again.
func TestJobsAreShownWithoutSecrets(t *testing.T) {
	o := newOperator(t)
	const secret = "hunter2"
	if _, err := o.client.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K", Tags: []string{"t"}, Data: []byte(`{"password":"` + secret + `-data"}`)}); err != nil {
		t.Fatal(err)
	}
	o.run("job", "track", "j")
	o.settle(queue.Settlement{
		Action: queue.Fail, Group: "g", Message: "cannot log in: password=" + secret, Checkpoint: []byte(`{"api_key":"` + secret + `"}`),
		Record: []byte(`{"ending":"exited","stderr":"token: ` + secret + `\nline two","message":"PASSWORD=` + secret + `"}`),
	})
	must.Do(t, o.client.Log(t.Context(), "j", "the secret="+secret, []byte(`{"token":"`+secret+`"}`)))
	for _, words := range [][]string{
		{"job", "show", "j"}, {"job", "log", "j"}, {"job", "why", "j"}, {"job", "ls", "tracked"}, {"failed", "ls", "g"}, {"failed", "retry", "g", "--dry-run"}, {"search", "group:g"}, {"tag", "show", "t"},
	} {
		for _, json := range []bool{false, true} {
			if json {
				words = append(words, "--json")
			}
			text := o.run(words...)
			if strings.Contains(strings.ReplaceAll(text, secret+"-data", ""), secret) || !strings.Contains(text, "•••") {
				t.Errorf("%v: %s", words, text)
			}
			noData := words[1] == "log" || words[1] == "why"
			if whole := strings.Contains(text, secret+"-data"); whole != (json && !noData) {
				t.Errorf("%v: its data is whole: %v", words, whole)
			}
		}
	}
}
