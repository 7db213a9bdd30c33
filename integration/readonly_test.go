package integration

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A Redis that is there and takes no writes is one state with its reason, said once, for as long
// as it lasts; it is no Redis that comes and goes.
func TestRedisThatTakesNoWrites(t *testing.T) {
	long(t, "it waits for three outages")
	for _, trouble := range []struct {
		name        string
		begin, end  []any
		says, ended string // once each, in the log
		why         string // in status
		advice      string // of doctor
	}{
		{"a replica", []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, "redis takes no writes", "redis takes writes again", "Redis takes no writes: ", "Name the master"},
		{"too few replicas", []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, "redis takes no writes", "redis takes writes again", "NOREPLICAS", "min-replicas-to-write"},
		{"no memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, "redis is out of memory", "redis has memory again", "Redis is out of memory: ", "Raise maxmemory"},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			r := newRig(t, 1, rigOptions{})
			a, _ := r.idle(t, pool{})
			a.control(t, "quiet")
			r.put(t, 4, work{MS: 5})
			must(t, r.db.Do(t.Context(), trouble.begin...).Err())
			a.control(t, "resume")
			a.said(t, trouble.says)
			before := r.asked(t)
			await(t, func() error { // it is asked again and again meanwhile
				if n := r.asked(t) - before; n < 6 {
					return fmt.Errorf("it was asked %d times", n)
				}
				return nil
			})
			a.neverSaid(t, "redis is back")
			a.neverSaid(t, trouble.ended)
			out, err := exec.Command(oarlock(t), "status", "-c", a.config).CombinedOutput()
			if err != nil || !strings.Contains(string(out), trouble.why) || strings.Contains(string(out), "is away") {
				t.Errorf("status does not say %q: %v\n%s", trouble.why, err, out)
			}
			out, err = exec.Command(oarlock(t), "doctor", "-c", a.config).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "writes: Redis "+strings.TrimPrefix(trouble.says, "redis ")) || !strings.Contains(string(out), trouble.advice) {
				t.Errorf("doctor does not say so: %v\n%s", err, out)
			}
			must(t, r.db.Do(t.Context(), trouble.end...).Err())
			a.said(t, trouble.ended)
			allDone(t, r.settled(t))
			for _, words := range []string{trouble.says, trouble.ended} {
				a.saidOnce(t, words)
			}
			a.stop(t)
		})
	}
}

// asked is how often Redis was asked for a write that changes nothing, or by a script.
func (r *rig) asked(t testing.TB) (n int) {
	t.Helper()
	text := got(r.db.Info(t.Context(), "commandstats").Result())(t)
	for _, found := range askedBy.FindAllStringSubmatch(text, -1) {
		calls, _ := strconv.Atoi(found[1])
		rejected, _ := strconv.Atoi(found[2])
		n += calls + rejected
	}
	return n
}

var askedBy = regexp.MustCompile(`cmdstat_(?:zadd|evalsha):calls=(\d+).*rejected_calls=(\d+)`)
