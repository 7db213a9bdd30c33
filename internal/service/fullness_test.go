package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"oarlock/internal/rules"
	"oarlock/queue"
	"oarlock/supervisor"
)

// A throttle that fills up, or has places again, is told of when two looks in a row have found it so; nobody is asked while nobody listens.
func TestFullnessIsTold(t *testing.T) {
	var told []string
	heard, asked, away := true, 0, error(nil)
	used := map[string]int{"erp": 1, "region": 3, "region=east": 2}
	limit := map[string]int{"erp": 2, "region": 10}
	f := &fullness{
		throttles: func() map[string]rules.CompiledThrottle {
			return map[string]rules.CompiledThrottle{
				"erp": {Limit: 2}, "region": {Limit: 10, Shares: map[string]float64{"east": 0.4, "west": 0.6}},
				"lent": {Shares: map[string]float64{"a": 1}, Borrow: true}, "rate": {Rate: []float64{1, 1, 1}},
			}
		},
		limits: func(_ context.Context, ids ...string) (all []queue.RuledLimit, err error) {
			asked++
			if want := []string{"erp", "lent", "rate", "region", "region=east", "region=west"}; !slices.Equal(ids, want) {
				t.Errorf("asked for %v, want %v", ids, want)
			}
			for _, id := range ids {
				all = append(all, queue.RuledLimit{ID: id, Used: used[id], Maximum: limit[id]})
			}
			return all, away
		},
		heard: func() bool { return heard },
		tell: func(e supervisor.Event) {
			told = append(told, fmt.Sprintf("%s %s %d/%d", e.Kind, e.Name, e.Count, e.To))
		},
	}
	looks := func(n int, want ...string) {
		t.Helper()
		told = nil
		for range n {
			f.look(t.Context())
		}
		if !slices.Equal(told, want) {
			t.Errorf("told is %q, want %q", told, want)
		}
	}
	looks(3)
	used["erp"], used["region=east"] = 2, 4
	looks(1)
	looks(3, "throttle-full erp 2/2", "throttle-full region=east 4/4")
	for range 10 { // as where places are taken and given back all the time
		used["erp"]--
		looks(1)
		used["erp"]++
		looks(1)
	}
	away = errors.New("away")
	used["erp"] = 0
	looks(5)
	away = nil
	looks(4, "throttle-free erp 0/2")
	limit["region"] = 0 // by hand
	looks(2, "throttle-free region=east 4/0")
	heard, asked = false, 0
	looks(5)
	if asked > 0 {
		t.Errorf("asked %d times, and nobody listens", asked)
	}
	heard, limit["region"], used["erp"] = true, 10, 2
	looks(3) // what is so when somebody begins to listen is no news
}

// Of very many throttles the first are looked at.
func TestFullnessIsBounded(t *testing.T) {
	all := map[string]rules.CompiledThrottle{}
	for n := range 500 {
		all[fmt.Sprint("t", n)] = rules.CompiledThrottle{Limit: 1, Shares: map[string]float64{"a": 1}}
	}
	if parts := partsOf(all); len(parts) != mostFull || parts[0].id != "t0" || parts[1].id != "t0=a" {
		t.Errorf("%d are looked at, %v first", len(parts), parts[:2])
	}
}
