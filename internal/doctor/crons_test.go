package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// crons tells what is found about recurring jobs, as level and text.
func (p patient) crons(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, f := range p.examine(t, false, func(d *Doctor) error { return d.Crons(t.Context()) }) {
		found = append(found, fmt.Sprintf("%s %s", f.Level, f.Text))
	}
	return found
}

func TestRecurringJobsThatNobodyPuts(t *testing.T) {
	p := newPatient(t)
	ctx := t.Context()
	if found := p.crons(t); len(found) > 0 {
		t.Errorf("of none: %q", found)
	}
	cron := queue.Cron{Name: "nightly", Schedule: "@daily", CronWork: queue.CronWork{Queue: "q", Klass: "K"}}
	now := time.Unix(int64(p.client.Now()), 0)
	put := func(due time.Time) {
		t.Helper()
		must.Get(p.client.PutCron(ctx, cron, queue.AnyRev, due, queue.CronHolder{}))(t)
	}
	set := func(key string, fields ...any) {
		t.Helper()
		must.Do(t, p.client.Redis().HSet(ctx, "ql:oarlock:"+key, fields...).Err())
	}
	expect := func(what string, want ...string) {
		t.Helper()
		found := p.crons(t)
		match := len(found) == len(want)
		for i := range want {
			match = match && strings.Contains(found[i], want[i])
		}
		if !match {
			t.Errorf("%s: found %q, want %q", what, found, want)
		}
	}
	put(now.Add(time.Hour))
	expect("no supervisor ever", "bad No supervisor puts the runs of recurring jobs (there are 1); the last that did was there: never.")
	set("cron-state", "seen", now.Unix()-3600)
	expect("the last left", "bad No supervisor puts the runs of recurring jobs (there are 1); the last that did was there: "+now.Add(-time.Hour).Format(time.DateTime))
	if _, _, err := p.client.DueCrons(ctx); err != nil { // as a supervisor does
		t.Fatal(err)
	}
	expect("all is well")
	put(now.Add(-time.Hour))
	expect("nobody puts it", "bad A run of nightly was due ")
	put(now.Add(time.Hour))
	set("cron:nightly", "missed-runs", 3, "missed-at", now.Unix()-60)
	expect("missed", "warning 3 runs of nightly were missed, as was noticed ")
	set("cron:nightly", "missed-at", now.Unix()-30*86400)
	expect("missed long ago")
	set("cron:nightly", "last", now.Unix()+86400)
	expect("a clock that was ahead", "warning nightly ran as of ")
	set("cron:nightly", "last", now.Unix())
	set("cron:nightly", "source", "file")
	set("cron-held:nightly", "a", fmt.Sprint(now.Unix()-3*86400, " print"))
	expect("its file is gone", "warning nightly stood in a file that no supervisor has any more")
	must.Do(t, p.client.Redis().Set(ctx, "ql:oarlock:cron:nightly", "x", 0).Err())
	expect("damaged", "bad nightly puts nothing: ")
}

func TestOldStatistics(t *testing.T) {
	p := newPatient(t)
	today := int64(p.client.Now()) / 86400 * 86400
	for i := range 300 {
		key := fmt.Sprintf("ql:s:wait:%d:q", today-int64(i)*86400)
		must.Do(t, p.client.Redis().HSet(t.Context(), key, "total", 1).Err())
	}
	look := func(fix bool) []Finding {
		return p.examine(t, fix, func(d *Doctor) error { return d.OldStats(t.Context()) })
	}
	for _, tt := range []struct {
		fix  bool
		want []string
	}{
		{false, []string{"note 269 statistics are of days that are older than stats-history."}},
		{true, []string{"repaired 269 statistics"}},
		{true, nil},
	} {
		var found []string
		for _, f := range look(tt.fix) {
			if f.Subject == "statistics" {
				found = append(found, string(f.Level)+" "+f.Text)
			}
		}
		if !slices.EqualFunc(found, tt.want, func(f, want string) bool { return strings.HasPrefix(strings.Replace(f, "fixed", "repaired", 1), want) }) {
			t.Errorf("fix %v: %q, want %q", tt.fix, found, tt.want)
		}
	}
	if n := len(p.client.Redis().Keys(t.Context(), "ql:s:wait:*").Val()); n != 31 {
		t.Errorf("%d days are left", n)
	}
}
