package integration

import (
	"syscall"
	"testing"
)

// TestKillsDuring2000Jobs kills the supervisor, children and redis-server while
// 2,000 jobs (800 in the gate) are worked off: every job is done, and a job runs twice only where a
// kill hit a child at work.
func TestKillsDuring2000Jobs(t *testing.T) {
	row(t, "kills", rigOptions{}, func(t *testing.T, r *rig) {
		const children = 4
		n := scaled(800, 2000)
		r.put(t, n, work{MS: 5})
		a := r.start(t, "a", pool{children: children, more: "max_crashes = 100"})
		supervisorKills, childKills, redisKills := 0, 0, 0
		for at := 200; at < n; at += 200 {
			entries := r.ledger.await(t, "more jobs ended", ended(at))
			switch at / 200 % 3 {
			case 0:
				a.kill(t)
				a.leftNothing(t)
				supervisorKills++
				a = r.start(t, "a", pool{children: children, more: "max_crashes = 100"})
			case 1:
				syscall.Kill(entries[len(entries)-1].pid, syscall.SIGKILL)
				childKills++
			case 2:
				r.redis.Kill()
				redisKills++
				r.redis.Restart()
			}
		}
		r.finish(t, allowed{twice: supervisorKills*children + childKills})
		r.note("supervisor_kills", supervisorKills, "child_kills", childKills, "redis_kills", redisKills)
		a.stop(t)
	})
}
