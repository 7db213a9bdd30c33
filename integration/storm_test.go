package integration

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
)

// mixedStorm injects faults of all kinds at random, from the seed, into two
// supervisors at work, their children, their Redis and the network between them.
func mixedStorm(t *testing.T, r *rig) {
	const children = 4
	p := pool{children: children, more: "max_crashes = 1000"}
	supervisors := map[string]*supervisor{"a": r.start(t, "a", p), "b": r.start(t, "b", p)}
	one := func() *supervisor { return supervisors[[]string{"a", "b"}[r.random.IntN(2)]] }
	storm := []struct {
		name string
		blow func()
	}{
		{"child killed", func() {
			if es := r.ledger.all(t); len(es) > 0 {
				syscall.Kill(es[len(es)-1-r.random.IntN(min(len(es), 20))].pid, syscall.SIGKILL)
			}
		}},
		{"supervisor killed", func() {
			s := one()
			s.kill(t)
			supervisors[s.name] = r.start(t, s.name, p)
		}},
		{"supervisor paused", func() {
			s := one()
			s.signal(t, syscall.SIGSTOP)
			last(time.Duration(200+r.random.IntN(4000)) * time.Millisecond)
			s.signal(t, syscall.SIGCONT)
		}},
		{"supervisor drained", func() {
			s := one()
			s.signal(t, syscall.SIGTERM)
			s.exit(t)
			supervisors[s.name] = r.start(t, s.name, p)
		}},
		{"redis killed", func() {
			r.redis.Kill()
			last(time.Duration(r.random.IntN(1500)) * time.Millisecond)
			r.redis.Restart()
		}},
		{"redis paused", func() {
			r.redis.Pause()
			last(time.Duration(r.random.IntN(3000)) * time.Millisecond)
			r.redis.Resume()
		}},
		{"connections reset", func() { r.proxy.Cut() }},
		{"black hole", func() {
			way := faultproxy.Direction(r.random.IntN(2))
			r.proxy.Hold(way)
			last(time.Duration(r.random.IntN(4000)) * time.Millisecond)
			r.proxy.Release(way)
		}},
		{"replies lost", func() {
			r.loseReplies(0.1)
			last(time.Second)
			r.loseReplies(0)
		}},
		{"replies torn", func() {
			r.proxy.Tear(0.3, r.random.Uint64())
			last(time.Second)
			r.proxy.Tear(0, 0)
		}},
		{"connections refused", func() {
			r.proxy.Refuse()
			r.proxy.Cut()
			last(time.Duration(r.random.IntN(3000)) * time.Millisecond)
			r.proxy.Accept()
		}},
		{"slow network", func() {
			r.proxy.Delay(100*time.Millisecond, 100*time.Millisecond)
			last(2 * time.Second)
			r.proxy.Delay(0, 0)
		}},
		{"scripts flushed", func() { r.db.ScriptFlush(t.Context()) }},
	}
	faults := 0
	until := time.Now().Add(soakLength(t))
	for time.Now().Before(until) {
		r.put(t, 50, work{MS: 10 + r.random.IntN(100), Beat: 20})
		f := storm[r.random.IntN(len(storm))]
		t.Logf("%.2f %s", now(), f.name)
		f.blow()
		faults++
		last(time.Duration(r.random.IntN(500)) * time.Millisecond)
	}
	allDone(t, r.settled(t))
	r.note("faults", faults)
	// The children of a supervisor that stands still live on beside the runs of the other.
	r.check(t, allowed{twice: faults * children, overlap: 4.5})
	r.drainAll(t, slices.Collect(maps.Values(supervisors))...)
}
