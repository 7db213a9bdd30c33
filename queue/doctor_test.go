package queue_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/doctor"
	"oarlock/queue"
)

func init() {
	queue.Diagnose = func(t testing.TB, c *queue.Client) []string { return diagnose(t, c, false) }
	queue.Repair = func(t testing.TB, c *queue.Client) []string { return diagnose(t, c, true) }
}

// diagnose lets a doctor look at all keys. Locks that ran out are no damage.
func diagnose(t testing.TB, c *queue.Client, fix bool) (found []string) {
	t.Helper()
	d := &doctor.Doctor{Client: c, Fix: fix, Report: func(f doctor.Finding) {
		if f.Level != doctor.OK && f.Subject != "locks" {
			found = append(found, f.Text)
		}
	}}
	ok(t, d.Keys(t.Context()))
	return found
}

// isSound tells the calls that leave sound keys from those whose damage PROTOCOL.md names: a
// retry into another queue (quirk 6), a put by reqless of a job that holds throttles, one who is
// taken out of the line for a throttle and put nowhere, a throttle that nobody may hold (7.6).
func isSound(call []string, field func(jid, name string) string) bool {
	name, args := call[0], call[1:]
	switch {
	case (name == "retry" || name == "job.retry") && len(args) > 1:
		return args[1] == field(args[0], "queue")
	case (name == "queue.put" || name == "job.requeue") && len(args) > 2:
		return field(args[2], "state") != "running"
	case name == "throttle.set" && len(args) > 1, name == "queue.throttle.set" && len(args) > 1:
		return !strings.HasPrefix(args[1], "-")
	}
	return name != "throttle.release"
}

// TestDoctorLeavesSoundKeysAlone plays random histories of the original's semantics; the doctor
// must find nothing on the way, and change nothing.
func TestDoctorLeavesSoundKeysAlone(t *testing.T) {
	l := queue.NewRandomLab(t)
	c := l.Open(t)
	const between = 6 // calls
	for _, dialect := range l.Dialects() {
		t.Run(string(dialect), func(t *testing.T) {
			for seed := range queue.Seeds(t, 20) {
				n := 0
				l.Play(t, dialect, seed, 150, isSound, func(calls fmt.Stringer) {
					if n++; n%between > 0 {
						return
					}
					before := l.Keys(t)
					found := diagnose(t, c, true)
					if after := l.Keys(t); len(found) > 0 || !reflect.DeepEqual(before, after) {
						t.Fatalf("seed %d: a repair of sound keys found %q and changed %v after%s", seed, found, difference(before, after), calls)
					}
				})
			}
		})
	}
}

// TestDoctorLeavesSoundKeysOfOrderAlone plays random programs of jobs with keys, by our scripts and beside others, of puts that merge, and of these with rules,
// parks and answers: the doctor must find nothing on the way, and change nothing. (Clients that know no rules leave places taken, which is a finding.)
func TestDoctorLeavesSoundKeysOfOrderAlone(t *testing.T) {
	l := queue.NewRandomLab(t)
	c := l.Open(t)
	for _, of := range []struct {
		name string
		play func(*testing.T, *queue.Client, int, uint64, int, func([]string))
		mix  int
	}{{"keys", l.PlayKeys, 0}, {"keys beside others", l.PlayKeys, 1}, {"payloads", l.PlayMerges, 0}, {"all", l.PlayAll, 0}} {
		t.Run(of.name, func(t *testing.T) {
			for seed := range queue.Seeds(t, 10) {
				n := 0
				of.play(t, c, of.mix, seed, 120, func(program []string) {
					if n++; n%11 > 0 {
						return
					}
					before := l.Keys(t)
					found := diagnose(t, c, true)
					if after := l.Keys(t); len(found) > 0 || !reflect.DeepEqual(before, after) {
						t.Fatalf("seed %d: a repair of sound keys found %q and changed %v after\n%s", seed, found, difference(before, after),
							strings.Join(program[max(0, len(program)-40):], "\n"))
					}
				})
			}
		})
	}
}

// TestDoctorMendsWhatTheOriginalLeaves plays histories with the defects of the originals, which
// leave locks of finished jobs, jobs in two places and throttles held for ever. What the
// doctor says it would do is what it does; then nothing is left to say, no job is lost, and no job
// that it did not name is another or due at another time.
func TestDoctorMendsWhatTheOriginalLeaves(t *testing.T) {
	l := queue.NewRandomLab(t)
	c := l.Open(t)
	mended := 0
	for _, dialect := range l.Dialects() {
		for seed := range queue.Seeds(t, 40) {
			var calls fmt.Stringer
			l.Play(t, dialect, seed, 150, func([]string, func(string, string) string) bool { return true }, func(c fmt.Stringer) { calls = c })
			before := l.Keys(t)
			would := diagnose(t, c, false)
			if after := l.Keys(t); !reflect.DeepEqual(before, after) {
				t.Fatalf("%s %d: looking changed %v", dialect, seed, difference(before, after))
			}
			said := diagnose(t, c, true)
			stop(t, len(said) != len(would), "%s %d: would %q, did %q", dialect, seed, would, said)
			for i := range said {
				never(t, !strings.HasPrefix(said[i], would[i]+": "), "%s %d: would %q, did %q", dialect, seed, would[i], said[i])
			}
			after := l.Keys(t)
			mended += len(said)
			if left := diagnose(t, c, false); len(left) > 0 {
				t.Fatalf("%s %d: mended %q, left %q after%s", dialect, seed, said, left, calls)
			}
			all := strings.Join(said, "\n")
			for _, line := range difference(before, after) {
				key, _, _ := strings.Cut(line, ": ")
				jid, isJob := strings.CutPrefix(key, "ql:j:")
				jid = strings.TrimSuffix(strings.TrimSuffix(jid, "-dependencies"), "-dependents")
				if isJob && !strings.Contains(all, jid) || strings.HasSuffix(key, "-scheduled") && !strings.Contains(all, key) {
					t.Fatalf("%s %d: said %q, but changed %s", dialect, seed, said, line)
				}
			}
		}
	}
	never(t, mended < queue.Tenth(40), "only %d defects in all histories", mended)
}

// difference lists the keys that are not the same.
func difference(a, b map[string]string) (names []string) {
	for name := range keysOf(a, b) {
		if a[name] != b[name] {
			names = append(names, name+": "+a[name]+" → "+b[name])
		}
	}
	slices.Sort(names)
	return names
}
