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
	one := rollcall.Answer{Host: "web1", Version: "1.0", Status: supervisor.Snapshot{Name: "web1", PID: 7, Ready: true, Redis: "ok"}, Sums: rollcall.Sums{Pools: 2, Children: 9, Busy: 4, Breakers: 1, Rolling: 2}}
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
	} {
		var out bytes.Buffer
		Roll(&out, tt.roll, "here")
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
	Roll(&out, roll, screentest.Hostile)
	screentest.Clean(t, "a roll", out.String())
}
