package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// hworker is what a program that uses hworker has on its list: a worker and a monitor, by the scripts that these send.
type hworker struct {
	t       *testing.T
	db      *redis.Client
	name    string
	timeout time.Duration
}

func (h hworker) keys() []string {
	return []string{"hworker-jobs-" + h.name, "hworker-progress-" + h.name}
}

// now is the time in the way that aeson writes it.
func (h hworker) now() string {
	return time.Now().UTC().Format(`"2006-01-02T15:04:05.000000Z"`)
}

// take is what its worker does first: the entry is in work from then on. "" is none.
func (h hworker) take() string {
	h.t.Helper()
	job, err := h.db.Eval(h.t.Context(), "local job = redis.call('RPOP', KEYS[1]) if job then redis.call('HSET', KEYS[2], job, ARGV[1]) end return job", h.keys(), h.now()).Text()
	if err != nil && err != redis.Nil {
		h.t.Fatal(err)
	}
	return job
}

// succeed is what its worker does when a job has ended well.
func (h hworker) succeed(job string) {
	h.t.Helper()
	if n := h.db.HDel(h.t.Context(), h.keys()[1], job).Val(); n != 1 {
		h.t.Errorf("%s is in work no more", job)
	}
}

// ages makes a job one that has been in work for an hour.
func (h hworker) ages(job string) {
	h.t.Helper()
	if n := h.db.HSet(h.t.Context(), h.keys()[1], job, time.Now().UTC().Add(-time.Hour).Format(`"2006-01-02T15:04:05.000000Z"`)).Val(); n != 0 {
		h.t.Errorf("%s was not in work", job)
	}
}

// monitor looks once: what is in work for longer than the timeout goes to the front again. It gives how many did.
func (h hworker) monitor() (back int) {
	h.t.Helper()
	for job, since := range h.db.HGetAll(h.t.Context(), h.keys()[1]).Val() {
		began, err := time.Parse(`"2006-01-02T15:04:05.999999999999Z"`, since)
		if err != nil {
			h.t.Fatalf("an hworker ends by a time as %s", since)
		}
		if time.Since(began) > h.timeout {
			n := got(h.db.Eval(h.t.Context(), "local n = redis.call('HDEL', KEYS[2], ARGV[1]) if n > 0 then redis.call('RPUSH', KEYS[1], ARGV[1]) end return n", h.keys(), job).Int())(h.t)
			back += n
		}
	}
	return back
}

// filed are the lines that file.sh, the program of examples/lists, has added to its file.
func (p *page) filed() []string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "filed.txt"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestListsAsWritten plays docs/lists.md: a list that is worked where it lies, one whose entries become jobs, the verbs, and the steps from an hworker
// and back to it.
func TestListsAsWritten(t *testing.T) {
	long(t, "it waits for the timeouts of the page")
	p := readPage(t, "lists.md")
	copyFile(t, "../examples/lists/file.sh", filepath.Join(p.dir, "file.sh"))
	p.env = append(p.env, "FILED="+filepath.Join(p.dir, "filed.txt"))
	for _, configured := range []struct{ pool, pushed, says string }{
		{"[pools.outbox]", "LPUSH outbox", `{"to": "zoe"}`}, {"[queues.orders]", "LPUSH new-orders", `{"customer": 17}`},
	} {
		p.configure(p.block("toml", configured.pool))
		stop := p.run()
		p.shell(p.block("sh", configured.pushed))
		until(t, "the entry is worked", func() bool { return strings.Contains(strings.Join(p.filed(), " "), configured.says) })
		if configured.pool == "[queues.orders]" {
			until(t, "it became a job, which is complete", func() bool { return p.db.ZCard(t.Context(), "ql:completed").Val() == 1 })
		}
		stop()
	}

	text := got(os.ReadFile("../docs/lists.md"))(t)
	verbs := map[string]string{ // as the table has them → what they print of a list with one entry that waits, one in work, one failed, and one that is no job
		"oarlock list ls [LIST…]":               "hworker:mail  1        1        1       1",
		"oarlock list show LIST":                `["waits",1]`,
		"oarlock list show LIST --in-work":      `["works",1]`,
		"oarlock list failed LIST":              `["failed",1]`,
		"oarlock list broken LIST":              "no job",
		"oarlock list watch LIST":               "1 waiting, 1 in work, 1 failed, 1 broken",
		"oarlock list put LIST DATA":            `",{"to":"ann"}]`,
		"oarlock list retry LIST":               "put back: 2",
		"oarlock list drop LIST --broken --yes": "dropped: 0",
		"oarlock list destroy LIST --yes":       "4 waited, 1 in work, 0 failed, 0 broken",
	}
	h := hworker{t, p.db, "mail", time.Minute}
	push := func(entry string) {
		t.Helper()
		must(t, p.db.LPush(t.Context(), "hworker-jobs-mail", entry).Err())
	}
	push(`["works",1]`)
	h.take()
	push(`["waits",1]`)
	p.db.LPush(t.Context(), "hworker-failed-mail", `["failed",1]`)
	p.db.HSet(t.Context(), "hworker-broken-mail", "no job", h.now())
	p.configure("")
	for _, row := range regexp.MustCompile("(?m)^\\| (`oarlock list [^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		var verb string
		for _, code := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			switch first, _, _ := strings.Cut(code[1], " "); first {
			case "oarlock":
				verb = code[1]
			case "broken":
				verb = "oarlock list " + code[1]
			default:
				verb += " " + code[1] // an option of it
			}
			says, known := verbs[verb]
			if !known {
				t.Fatalf("another verb stands there: %s", verb)
			}
			delete(verbs, verb)
			command := strings.NewReplacer("[LIST…]", "hworker:mail", "LIST", "hworker:mail", "DATA", `'{"to":"ann"}'`).Replace(verb)
			if strings.Contains(verb, "watch") { // it prints without end
				command = fmt.Sprintf("timeout 60 %s | grep -Fm1 %q", command, says)
			}
			if out := p.shell(command); !strings.Contains(out, says) {
				t.Errorf("%s prints\n%s\nwithout %s", command, out, says)
			}
		}
	}
	if len(verbs) > 0 {
		t.Errorf("the page says nothing of %v", verbs)
	}

	// From an hworker, beside which it begins. Of two entries one is done by it, and it stops with the other in work.
	for i := range 6 {
		push(fmt.Sprintf(`["id-%d","from-%d"]`, i, i))
	}
	byHworker := h.take()
	left := h.take()
	const pool = "[pools.mail]\nlist = \"hworker:mail\"\nlist_timeout = \"1m\"\ncommand = [\"sh\", \"file.sh\"]\ninput = \"data\"\n"
	p.configure(pool)
	stop := p.run()
	until(t, "what waits is worked", func() bool { return strings.Contains(strings.Join(p.filed(), " "), `"from-5"`) })
	h.succeed(byHworker)
	h.ages(left)
	until(t, "what the hworker had in work comes back after the timeout", func() bool {
		return strings.Contains(strings.Join(p.filed(), " "), regexp.MustCompile(`"from-\d"`).FindString(left))
	})
	for _, filed := range p.filed() {
		if strings.Contains(byHworker, filed) && strings.Contains(filed, "from") {
			t.Errorf("%s was done by the hworker, and again by us", filed)
		}
	}
	until(t, "nothing is in work", func() bool { return p.db.HLen(t.Context(), "hworker-progress-mail").Val() == 0 })
	stop()

	// And back: we stop with one in work, killed, and the monitor of the hworker brings it back.
	p.configure(strings.Replace(pool, `"file.sh"`, `"-c", "exec sleep 600"`, 1))
	push(`["id-6","back"]`)
	killed := p.begin()
	until(t, "it is in work", func() bool { return p.db.HLen(t.Context(), "hworker-progress-mail").Val() == 1 })
	killed.Process.Kill()
	killed.Wait()
	h.ages(`["id-6","back"]`)
	until(t, "the hworker's monitor brings it back", func() bool { return h.monitor() == 1 })
	if job := h.take(); job != `["id-6","back"]` {
		t.Errorf("the hworker takes %q", job)
	} else {
		h.succeed(job)
	}
	for _, key := range p.db.Keys(t.Context(), "*mail*").Val() {
		if !strings.HasPrefix(key, "ql:oarlock:") {
			t.Errorf("%s is left", key)
		}
	}
}
