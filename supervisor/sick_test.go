package supervisor

import (
	"sync/atomic"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// A child that is kept and goes bad, because its connection is gone, ends jobs sooner than those that do them. It is replaced before it
// has burnt the queue, whether or not there are others.
func TestAChildThatWentBadIsReplaced(t *testing.T) {
	for name, children := range map[string]int{"alone": 1, "among others": 4} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children = children
			var raisings atomic.Int64
			var programs atomic.Int64
			w.host.program = func(*runner.Spec) program {
				first, done := programs.Add(1) == 1, 0
				return program{work: func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
					if done++; first && done > 20 {
						raisings.Add(1)
						e := raised()
						e.Began = true
						return e
					}
					time.Sleep(100 * time.Millisecond)
					e := said(protocol.Ack)
					e.Began = true
					return e
				}}
			}
			w.runFor(10*time.Minute, 300)
			w.want("complete", 300)
			if n, started := raisings.Load(), programs.Load(); n > 15 || started != int64(children)+1 {
				t.Errorf("%d attempts ended badly, and %d children were started; the child was to be replaced at the tenth", n, started)
			}
		})
	}
}

// Where all jobs end badly, another child would do no better than one that was replaced: each is replaced once.
func TestNoChildIsBlamedForWhatAllDo(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children = 4
		began := time.Now()
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(10 * time.Millisecond)
			e := said(protocol.Ack)
			if since := time.Since(began); since > time.Second && since < time.Minute {
				e = raised()
			}
			e.Began = true
			return e
		}
		w.runFor(time.Hour, 1000)
		w.want("complete", 1000)
		if n := w.host.starts(); n > 8 {
			t.Errorf("%d children were started for 4 slots", n)
		}
	})
}

// Jobs that are bad and were put together come in rows on whatever child. No child is replaced for each such row: where the next went on with it,
// rows have to be longer.
func TestRowsOfBadJobsDoNotReplaceChildrenForEver(t *testing.T) {
	for name, children := range map[string]int{"one child": 1, "four": 4} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children = children
			var n atomic.Int64
			jobs := scaled(1000, 3000)
			w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
				time.Sleep(100 * time.Millisecond)
				e := said(protocol.Ack)
				if n := int(n.Add(1)); n <= jobs && n%(100*children) < 40*children { // what comes back after that ends well
					e = raised()
				}
				e.Began = true
				return e
			}
			w.runFor(time.Hour, jobs)
			w.want("complete", jobs)
			if started := w.host.starts(); started > 5*children {
				t.Errorf("%d children were started for %d slots", started, children)
			}
		})
	}
}
