package integration

import (
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/queue"
)

// stepping builds the program with a wall clock that the test sets: the package time of it adds to each moment what a file says. The
// monotonic clock goes on. It returns the program, and what makes the clock differ by so much.
func stepping(t *testing.T) (program string, step func(time.Duration)) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(strings.TrimSpace(ran(t, exec.Command("go", "env", "GOROOT"))), "src", "time", "time.go")
	text := string(got(os.ReadFile(source))(t))
	const now = "	sec, nsec, mono := runtimeNow()\n	if mono == 0 {"
	if strings.Count(text, now) != 1 {
		t.Fatalf("time.Now has changed in %s: look for another place", source)
	}
	text = strings.Replace(text, now, "	sec, nsec, mono := runtimeNow()\n	sec += wallStep()\n	if mono == 0 {", 1)
	by := filepath.Join(dir, "step")
	must(t, os.WriteFile(by, make([]byte, 8), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "time.go"), []byte(text), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "wallstep.go"), fmt.Appendf(nil, `package time

import (
	"syscall"
	"unsafe"
)

var wallSteps = func() *int64 {
	fd, err := syscall.Open(%q, syscall.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	syscall.Close(fd)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}()

func wallStep() int64 {
	if wallSteps == nil {
		return 0
	}
	return *wallSteps
}
`, by), 0o644))
	overlay := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(overlay, got(json.Marshal(map[string]any{"Replace": map[string]string{
		source: filepath.Join(dir, "time.go"), filepath.Join(filepath.Dir(source), "wallstep.go"): filepath.Join(dir, "wallstep.go"),
	}}))(t), 0o644))
	program = filepath.Join(dir, "oarlock")
	must(t, build(program, "-overlay", overlay))
	file := got(os.OpenFile(by, os.O_RDWR, 0))(t)
	t.Cleanup(func() { file.Close() })
	return program, func(by time.Duration) {
		var text [8]byte
		encoding.NativeEndian.PutUint64(text[:], uint64(by/time.Second))
		got(file.WriteAt(text[:], 0))(t)
	}
}

// TestTheWallClockSteps has the wall clock of a host step, forward and back, by an hour and by decades, while jobs run for longer than
// their locks, others are delayed, and one recurs; then Redis' clock with it, as where Redis runs on the same host. Each job runs once, each second
// has its run, and the supervisor answers and logs all the time.
func TestTheWallClockSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("long: builds the standard library with a clock that steps")
	}
	const hour, decades = time.Hour, 30 * 365 * 24 * time.Hour
	program, step := stepping(t)
	for _, redisToo := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis=%v", redisToo), func(t *testing.T) {
			row(t, "wall", rigOptions{proxy: redisToo, alone: true}, func(t *testing.T, r *rig) {
				r.binary = program
				steps := []time.Duration{hour, 0, -hour, decades, -decades, 0}
				var ahead atomic.Int64
				if redisToo {
					steps = []time.Duration{hour, 0, -hour, 0}
					r.proxy.Intercept(func(d faultproxy.Direction, data []byte) []byte {
						m := timeReply.FindSubmatchIndex(data)
						if d != faultproxy.Replies || m == nil {
							return data
						}
						seconds, _ := strconv.ParseInt(string(data[m[2]:m[3]]), 10, 64)
						return slices.Concat(data[:m[2]], strconv.AppendInt(nil, seconds+ahead.Load(), 10), data[m[3]:])
					})
				}
				a := r.startConfig(t, "a", r.config(t, "a", pool{children: 10})+`
[recurring.tick]
every = "1s"
missed = "run-all"
queue = "elsewhere"
klass = "Tick"
`)
				a.said(t, "recurs as the file says")
				for i, by := range steps {
					r.put(t, 3, work{MS: 12_000}) // longer than its lock, and than what follows
					r.put(t, 20, work{MS: 20})
					if !redisToo {
						r.putOne(t, work{MS: 20}, func(p *queue.Put) { p.Delay = 3 * time.Second })
					}
					r.ledger.await(t, "that jobs have begun", begun(23*i+3))
					step(by)
					ahead.Store(int64(by / time.Second))
					if redisToo {
						a.said(t, "clock of redis jumped")
					}
					time.Sleep(6 * time.Second)
					ran(t, exec.Command(r.binary, "status", "-c", a.config))
				}
				jobs := r.settled(t)
				r.doneFree(t, jobs)
				r.check(t, allowed{})
				if !redisToo {
					all := r.awaitTicks(t, "tick", 30)
					for i := range all {
						if all[i] != all[0]+i {
							t.Fatalf("a run is missing, or one too many: %v", all)
						}
					}
				}
				a.stop(t)
			})
		})
	}
}
