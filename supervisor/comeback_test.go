package supervisor

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// stage is how far an attempt is, as it looks from outside.
type stage string

const (
	waiting  stage = "waiting"  // taken, no child yet
	running  stage = "running"  // a child has it
	stopping stage = "stopping" // a child has it and was asked to stop
	ended    stage = "ended"    // to be settled, or on its way
	over     stage = "over"     // not ours
)

// comeback is one way in which a job comes back while we have an attempt of it in flight.
type comeback struct {
	how   string // what somebody did to the job
	stage stage  // how far the attempt was
	free  bool   // another child has nothing to do
	lost  bool   // the reply to the next call is lost
}

func (c comeback) String() string {
	return fmt.Sprintf("%s/%s/free=%t/lost=%t", c.how, c.stage, c.free, c.lost)
}

// comebackJob is the job j0 of a world, and what its children were told to work.
type comebackJob struct {
	*fakeWorld
	finish chan struct{} // closed: the first attempt may end

	mu   sync.Mutex
	runs []string // queue and data of each attempt that was begun
}

// begin starts a world with the job j0, whose first attempt lasts until it is stopped or may
// finish. Each acknowledges with its number.
func begin(t *testing.T, c comeback) *comebackJob {
	w := &comebackJob{fakeWorld: newFakeWorld(t), finish: make(chan struct{})}
	p := &w.cfg.Pools[0]
	p.Queues = []string{"q", "q2"}
	if !c.free {
		p.Children = 1
	}
	w.host.work = func(job *protocol.Job, stop <-chan runner.Cause) *runner.Ending {
		w.mu.Lock()
		w.runs = append(w.runs, job.Queue+" "+string(job.Data))
		n := len(w.runs)
		w.mu.Unlock()
		if n == 1 && c.stage != waiting {
			select {
			case <-w.finish:
			case <-stop:
				time.Sleep(3 * time.Second)
			}
		}
		time.Sleep(10 * time.Millisecond)
		e := said(protocol.Ack)
		e.Verdict.Data = []byte(strconv.Itoa(n))
		return e
	}
	w.redis.put(1)
	return w
}

// begun returns what was begun so far.
func (w *comebackJob) begun() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

// act does to the job what the comeback says, and returns what is to be run from then on.
func (w *comebackJob) act(how string) string {
	switch how {
	case "put":
		w.redis.again("j0", "q", `{"v":2}`)
		return `q {"v":2}`
	case "requeue":
		w.redis.again("j0", "q", `{}`)
	case "move":
		w.redis.again("j0", "q2", `{}`)
		return `q2 {}`
	case "timeout":
		w.redis.timeout("j0")
	}
	return `q {}`
}

// reach brings the attempt to its stage, such that the next take comes before anybody can
// tell that the lock is lost.
func (w *comebackJob) reach(c comeback) {
	late, slow := time.Duration(0), time.Duration(0)
	renewal, later := 5*time.Second, 5*time.Second
	if c.stage == stopping {
		later = 2 * time.Minute
	}
	if c.stage == waiting { // it comes with a lock that has almost ended, and is renewed first
		late = 50 * time.Second
	}
	w.redis.faults(func(call string) fault {
		switch call {
		case "exchange":
			f := fault{delay: slow, after: late}
			late, slow = 0, 0
			return f
		case "renew":
			f := fault{delay: renewal}
			renewal = later
			return f
		}
		return fault{}
	})
	w.runFor(52*time.Second, 0)
	switch c.stage {
	case stopping: // its lease runs out, for no renewal is answered in time
		for w.stage() != stopping {
			time.Sleep(10 * time.Millisecond)
		}
	case ended: // behind a call that is out
		locked(&w.redis.mu, func() { slow = time.Second })
		w.s.Resume()
		synctest.Wait()
		close(w.finish)
		time.Sleep(20 * time.Millisecond)
	}
}

// stage is the stage of the job's attempt.
func (w *comebackJob) stage() stage {
	p := w.s.Snapshot().Pools[0]
	var runs []RunSnapshot
	for _, s := range p.Slots {
		runs = append(runs, s.Runs...)
	}
	switch {
	case p.Waiting > 0:
		return waiting
	case p.Unsettled > 0:
		return ended
	case len(runs) == 0:
		return over
	case runs[0].Stopping != "":
		return stopping
	}
	return running
}

func TestAJobThatWasPutAgainOrTakenBackRunsAnew(t *testing.T) {
	for _, how := range []string{"put", "timeout", "move", "requeue"} {
		for _, stage := range []stage{waiting, running, stopping, ended} {
			for _, free := range []bool{true, false} {
				for _, lost := range []bool{true, false} {
					if testing.Short() && free == lost {
						continue // each is there with the other three
					}
					c := comeback{how, stage, free, lost}
					t.Run(c.String(), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { runsAnew(t, c) })
					})
				}
			}
		}
	}
}

func runsAnew(t *testing.T, c comeback) {
	w := begin(t, c)
	w.reach(c)
	if got := w.stage(); got != c.stage {
		t.Fatalf("the attempt is %v", got)
	}
	if c.lost {
		w.redis.mu.Lock()
		of := w.redis.fault
		lose := true
		w.redis.fault = func(call string) fault {
			f := of(call)
			if call == "exchange" && lose {
				lose, f.lost = false, errDoubt
			}
			return f
		}
		w.redis.mu.Unlock()
	}
	before := len(w.begun())
	want := w.act(c.how)
	time.Sleep(5 * time.Minute)

	runs := w.begun()
	if len(runs) != before+1 || runs[len(runs)-1] != want {
		t.Errorf("%d attempts before, then %q; want one of %s", before, runs[before:], want)
	}
	j := w.redis.job("j0")
	if j.state != "complete" || string(j.settlement.Data) != strconv.Itoa(len(runs)) {
		t.Errorf("the job is %s by attempt %s, want it done by the last of %d", j.state, j.settlement.Data, len(runs))
	}
	if j.Remaining != 5 {
		t.Errorf("the job has %d retries left, want all 5", j.Remaining)
	}
	w.end()
}

// A verdict that was given while the lock held counts, if the lock ran out before we could
// say so and nobody else had the job since.
func TestAVerdictOutlivesItsLock(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, changed := range []bool{false, true} {
			name := fmt.Sprintf("lost=%t/changed=%t", lost, changed)
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { outlives(t, lost, changed) })
			})
		}
	}
}

// outlives lets the lock of an attempt that has ended run out for Redis, and another worker
// have the job in between if it is to be changed.
func outlives(t *testing.T, lost, changed bool) {
	c := comeback{stage: ended, free: true}
	w := begin(t, c)
	w.reach(c)
	w.redis.mu.Lock()
	j := w.redis.jobs["j0"]
	if changed {
		j.pop("other", w.redis.Now(), 0)
		j.Remaining--
		j.Data = []byte(`{"by":"other"}`)
	}
	j.Expires = w.redis.Now()
	of, lose := w.redis.fault, lost
	w.redis.fault = func(call string) fault {
		f := of(call)
		if call == "exchange" && lose {
			lose, f.lost = false, errDoubt
		}
		return f
	}
	w.redis.mu.Unlock()
	time.Sleep(time.Minute)
	runs, adopted := 1, 1
	if changed {
		runs, adopted = 2, 0
	}
	counters := w.s.Snapshot().Pools[0].Counters
	if got := w.begun(); len(got) != runs || counters.Adopted != adopted || counters.RunAnew != 1-adopted {
		t.Errorf("begun: %q, adopted %d, run anew %d; want %d attempts and %d adopted", got, counters.Adopted, counters.RunAnew, runs, adopted)
	}
	w.want("complete", 1)
	w.end()
}

// How far an attempt came is nothing that the next of a job is to be told which was put again
// meanwhile.
func TestACheckpointIsOfWhatWasPut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := comeback{stage: running, free: true}
		w := begin(t, c)
		w.reach(c)
		child, job := w.host.at("j0")
		w.redis.faults(nil)
		child.to.Checkpoint(job, []byte(`{"at":"version 1"}`))
		w.act("put") // the child takes three seconds to stop
		time.Sleep(time.Second)
		child.to.Checkpoint(job, []byte(`{"at":"version 1, later"}`))
		time.Sleep(90 * time.Second) // and locks are renewed
		w.want("complete", 1)
		same(t, string(w.redis.job("j0").Checkpoint), "", "version 2 is kept with the checkpoint %s")
	})
}

// What nobody can work says nothing about what was put in its place while its child was started.
func TestDataThatCannotBeWorkedIsThatOfItsOwnPut(t *testing.T) {
	for _, lost := range []bool{false, true} {
		runFaked(t, fmt.Sprint(lost), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Child.Mode = runner.Once
			w.host.slow = time.Second
			w.redis.put(1)
			locked(&w.redis.mu, func() { w.redis.jobs["j0"].Data = []byte("no JSON") })
			w.runFor(100*time.Millisecond, 0)
			w.redis.again("j0", "q", `{"v":2}`)
			if lost {
				w.redis.steal("j0", "other")
			}
			time.Sleep(10 * time.Second)
			if !lost {
				w.want("complete", 1)
			}
			if shot := w.s.Snapshot().Pools[0]; shot.Counters.Late != 0 {
				t.Errorf("lost=%t: %d verdicts came too late, want none to be given", lost, shot.Counters.Late)
			}
		})
	}
}

// What was put again while its old attempt was being stopped may be somebody else's before
// that attempt has ended.
func TestAJobThatCameBackAndWentAgainIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := comeback{stage: running, free: true}
		w := begin(t, c)
		w.reach(c)
		w.redis.faults(nil)
		w.act("put") // the child takes three seconds to stop
		time.Sleep(time.Second)
		if n := w.s.Snapshot().Pools[0].Counters.RunAnew; n != 1 {
			t.Fatalf("%d jobs came back, want 1", n)
		}
		worker := w.redis.job("j0").worker
		w.redis.steal("j0", "other")
		w.redis.mu.Lock()
		w.redis.jobs["j0"].Expires += 3600
		w.redis.tell(lockLost("j0", worker))
		w.redis.mu.Unlock()
		time.Sleep(10 * time.Second)
		if runs := w.begun(); len(runs) != 1 {
			t.Errorf("begun: %q, want nothing after the first", runs)
		}
	})
}
