package cli

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/embedded"
	"oarlock/internal/must"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

// Depth and rates of a supervisor at work; and when Redis goes away, since when nothing is known.
func TestDepthAndRateInStatus(t *testing.T) {
	s := newScript(t, workFiles)
	server := must.Get(embedded.Start(""))(t)
	s.env["REDIS_URL"] = server.URL()
	p := running(t, s)
	p.ask("put", "work", `"slow"`)
	p.ask("put", "work", `"slow"`)
	p.await(`line=started`)
	p.await(`line=started`)
	p.ask("put", "work", `"good"`)
	p.ask("put", "work", `"later"`, "--delay", "1h")
	p.until("work   1      2        1", "status")
	var r service.Status
	must.Do(t, json.Unmarshal([]byte(p.ask("status", "--json")), &r))
	if len(r.Queues) != 1 || *r.Queues[0].Ready != 1 || *r.Queues[0].Running != 2 || *r.Queues[0].Scheduled != 1 || r.UnknownSince != nil {
		t.Errorf("%+v", r.Queues)
	}
	server.Close()
	p.until("What is in the queues is unknown since ", "status")
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.terminate()
}

// Pools are chosen by names and globs, as queues are.
func TestOnlyPools(t *testing.T) {
	for globs, want := range map[string]string{"mail": "mail", "m*": "mail maps", "maps thumb?": "maps thumbs"} {
		var r service.Status
		for _, name := range []string{"mail", "maps", "thumbs"} {
			r.Pools = append(r.Pools, supervisor.PoolSnapshot{Name: name})
		}
		err := onlyPools(&r, strings.Fields(globs))
		var names []string
		for _, p := range r.Pools {
			names = append(names, p.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %v, %v", globs, names, err)
		}
	}
	if err := onlyPools(&service.Status{}, []string{"x*"}); exitCode(err) != exitGone {
		t.Error(err)
	}
}
