package show

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"oarlock/internal/rollcall"
	"oarlock/internal/screentest"
	"oarlock/supervisor"
)

func TestRollTellsWhoAnswered(t *testing.T) {
	one := rollcall.Answer{Host: "web1", Version: "1.0", Status: supervisor.Snapshot{Name: "web1", PID: 7, Ready: true, Redis: "ok", Pools: []supervisor.PoolSnapshot{{Children: 7}, {Children: 2}}}, Sums: rollcall.Sums{Pools: 2, Children: 5, Busy: 4, Breakers: 1, Rolling: 2}}
	other := one
	other.Version, other.Status.Redis, other.URL = "1.1", "not writable: it is a replica", "http://web2:7733"
	for _, tt := range []struct {
		name  string
		roll  rollcall.Roll
		words []string
	}{
		{"nobody", rollcall.Roll{}, []string{"No supervisor here answers"}},
		{"nobody in a cluster", rollcall.Roll{Asked: -1}, []string{"No supervisor here answers"}},
		{"one", rollcall.Roll{Asked: 1, Answered: 1, Items: []rollcall.Answer{one}}, []string{"1 supervisor answered here.", "web1", "ready, 1 pool slow, 2 pools in change", "4/9"}},
		{"versions", rollcall.Roll{Asked: 2, Answered: 2, Items: []rollcall.Answer{one, other}}, []string{"of 2 versions: 1.0, 1.1", "http://web2:7733"}},
		{"missing", rollcall.Roll{Asked: 4, Answered: 1, Missing: 2, Unread: 1, Silent: []string{"web7", "web9"}, Items: []rollcall.Answer{one}},
			[]string{"1 of 4 supervisors answered, 2 did not, of those that did lately: web7, web9; 1 answer could not be read here."}},
		{"all silent", rollcall.Roll{Asked: 2, Missing: 2}, []string{"0 of 2 supervisors answered, 2 did not here."}},
		{"cluster", rollcall.Roll{Asked: -1, Answered: 1, Items: []rollcall.Answer{one}}, []string{"1 supervisor answered; how many there are cannot be known in a cluster here."}},
		{"unheard", rollcall.Roll{Unheard: []rollcall.Unheard{{Name: "web9", PID: 12, Pools: []string{"mail", "render"}, Jobs: 3, Seen: 998}, {Name: "web8", PID: 1, Stalled: 1, Seen: 400}, {Name: "web7", Seen: 2000}}},
			[]string{"No supervisor here answers", "web.roll_call = false", "known by the jobs that they took only", "web9", "mail, render", "2s", "holds 3 jobs", "10m 0s", "its locks ran out", "idle, or gone"}},
	} {
		var out bytes.Buffer
		Roll(&out, tt.roll, "here", 1000)
		for _, want := range tt.words {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, out.String())
			}
		}
	}
}

func TestHostileTextsOfARoll(t *testing.T) {
	var roll rollcall.Roll
	screentest.Fill(reflect.ValueOf(&roll).Elem())
	roll.Asked, roll.Missing = 2, 1
	var out bytes.Buffer
	Roll(&out, roll, screentest.Hostile, 1000)
	screentest.Clean(t, "a roll", out.String())
}
