package doctor

import (
	"fmt"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// Completed jobs with large data are told of before Redis is full of them.
func TestCompletedJobsFillRedis(t *testing.T) {
	p := newPatient(t)
	look := func() (said []string) {
		t.Helper()
		d := Doctor{Client: p.client, Report: func(f Finding) {
			if f.Subject == "completed jobs" {
				said = append(said, f.Text)
			}
		}}
		must.Do(t, d.Server(t.Context()))
		return said
	}
	if said := look(); len(said) > 0 {
		t.Errorf("of one small job: %q", said)
	}
	db := p.server.Client(t)
	data := strings.Repeat("x", 16<<20)
	for i := range 10 {
		jid := fmt.Sprint("large", i)
		must.Do(t, db.HSet(t.Context(), "ql:j:"+jid, "jid", jid, "klass", "K", "state", "complete", "data", data).Err())
		db.Do(t.Context(), "ZADD", "ql:completed", 1e9+i, jid)
	}
	if said := look(); len(said) != 1 || !strings.HasPrefix(said[0], "The data of 11 completed jobs takes about 160 MiB of Redis") {
		t.Errorf("of ten with 16 MiB each: %q", said)
	}
}
