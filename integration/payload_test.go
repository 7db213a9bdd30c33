package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/queue"
)

// payloadsComeOutAsTheyWentIn sends data through Redis, the supervisor and a pipe
// that each JSON library on the way would change.
func payloadsComeOutAsTheyWentIn(t *testing.T, r *rig) {
	payloads := []string{
		`[]`, `{}`, `null`, `9007199254740993`, `12345678901234567890`, `1.10`, `1e400`,
		`{"a":[],"b":{},"a":2}`, `"\u00e9\/\ud83d\ude00 é"`, `  { "spaced" : true }  `,
		strings.Repeat("[", 500) + strings.Repeat("]", 500),
		`"` + strings.Repeat("x", 64<<10) + `"`,
		`"` + strings.Repeat("y", 1<<20) + `"`,
		`"` + strings.Repeat("z", 10_000_000) + `"`,
	}
	puts := make([]queue.Put, len(payloads))
	for i, data := range payloads {
		puts[i] = queue.Put{Queue: "work", Klass: "Work", Data: []byte(data)}
	}
	jids := r.putAll(t, puts)
	tooLarge := r.putAll(t, []queue.Put{{Queue: "work", Klass: "Work", Data: []byte(`"` + strings.Repeat("w", 12<<20) + `"`)}})[0]
	r.start(t, "a", pool{mode: "once", worker: "keeps-its-input.sh", children: 2, more: "input = \"data\"\nmax_job = \"11MiB\""})
	jobs := r.settled(t)
	for i, jid := range jids {
		got, err := os.ReadFile(filepath.Join(filepath.Dir(r.ledger.path), jid))
		if err != nil {
			t.Errorf("%.40s: %v", payloads[i], err)
		} else if want := payloads[i] + "\n"; string(got) != want {
			t.Errorf("%.40s (%d bytes) came out as %.40s (%d bytes)", payloads[i], len(want), got, len(got))
		}
		if stored := r.db.HGet(t.Context(), "ql:j:"+jid, "data").Val(); stored != payloads[i] {
			t.Errorf("%.40s (%d bytes) is stored as %.40s (%d bytes)", payloads[i], len(payloads[i]), stored, len(stored))
		}
	}
	if j := jobs[len(jobs)-1]; j.jid != tooLarge || j.state != "failed" || j.group != "payload-too-large" {
		t.Errorf("a job of 12 MiB is %s, group %q; want failed, payload-too-large", j.state, j.group)
	}
	if n := len(runs(r.ledger.all(t))[tooLarge]); n > 0 {
		t.Errorf("a job of 12 MiB began %d times", n)
	}
	r.note("payloads", len(payloads))
	r.check(t, allowed{})
}

// outputOfAnyKind lets children print everything that is no status line: the
// verdict after it counts, and the log shows what was printed.
func outputOfAnyKind(worker string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.put(t, 4, work{})
		a := r.start(t, "a", pool{mode: "once", worker: worker, children: 2, more: "log_rate = 0"})
		r.finish(t, allowed{})
		for _, words := range []string{`not a status`, `no verb`, `half of a line`, `the last words`} {
			a.said(t, words)
		}
		if text := a.text(); strings.ContainsAny(text, "\x00\x1b\x07") {
			t.Error("the log holds control characters")
		} else if i := bytes.IndexByte([]byte(text), 0xff); i >= 0 {
			t.Errorf("the log holds invalid UTF-8: %q", text[max(0, i-40):i+1])
		}
		if size := resident(a.pid()); size > 200<<20 {
			t.Errorf("the supervisor grew to %d MiB", size>>20)
		} else {
			r.note("resident", fmt.Sprint(size>>20, "MiB"))
		}
	}
}
