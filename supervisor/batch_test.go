package supervisor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// batched is a world whose children read messages of several jobs, most of them at most.
func batched(t *testing.T, children, most int) *fakeWorld {
	w := newFakeWorld(t)
	w.host.batches = true
	w.cfg.Pools[0].Children, w.cfg.Pools[0].Batch = children, most
	return w
}

// A message has as many jobs as are there and fit: of one class, no more than any of them came with before it
// came to grief, and a suspect alone. What is no JSON is set aside, and keeps the others from nothing.
func TestWhatGoesInOneMessage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(i int, j *fakeJob)
		want   []int
	}{
		"all":     {func(int, *fakeJob) {}, []int{10, 10, 10}},
		"classes": {func(i int, j *fakeJob) { j.Klass = fmt.Sprint(i % 2) }, nil},
		"bytes": {func(i int, j *fakeJob) {
			j.Data, j.Size = slices.Repeat([]byte(" "), 300<<10), 300<<10
			j.Data[0] = '1'
		},
			[]int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
		"halved":   {func(i int, j *fakeJob) { j.Batch = 2 * (i / 15) }, []int{10, 5, 2, 2, 2, 2, 2, 2, 2, 1}},
		"alone":    {func(i int, j *fakeJob) { j.Batch = i / 29 }, []int{10, 10, 9, 1}},
		"suspects": {func(i int, j *fakeJob) { j.Deaths = 2 * (i / 28) }, []int{10, 10, 8, 1, 1}},
		"no JSON": {func(i int, j *fakeJob) {
			if i == 3 {
				j.Data = []byte("{")
			}
		}, []int{10, 10, 10}},
	} {
		runBubble(t, name, func(t *testing.T) {
			w := batched(t, 1, 10)
			w.redis.put(30)
			for i := range 30 {
				c.change(i, w.redis.jobs[fmt.Sprintf("j%d", i)])
			}
			w.runFor(time.Minute, 0)
			failed := w.redis.states()["failed"]
			w.want("complete", 30-failed)
			if (failed == 1) != (name == "no JSON") {
				t.Errorf("%d jobs failed", failed)
			}
			sizes := w.host.sizes()
			slices.SortFunc(sizes, func(a, b int) int { return b - a })
			exact := name != "no JSON" && name != "halved" && name != "classes"
			if sum := sumOf(sizes); exact && !slices.Equal(sizes, c.want) || sum < 30-failed || name == "classes" && sizes[0] > 5 {
				t.Errorf("messages of %v, want %v", sizes, c.want)
			}
			if name == "halved" && (sizes[0] != 10 || slices.Max(sizes[2:]) > 2) {
				t.Errorf("messages of %v, want %v", sizes, c.want)
			}
		})
	}
}

// sizes are the messages so far.
func (h *fakeHost) sizes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.messages)
}

func sumOf(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// With batch_wait a message waits for more jobs, but no longer than that, and not when it is full.
func TestAMessageWaitsForMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := batched(t, 1, 10)
		w.cfg.Pools[0].BatchWait = 2 * time.Second
		w.runFor(time.Second, 0)
		for range 3 {
			w.putFor(500*time.Millisecond, 2)
		}
		w.want("complete", 0)
		w.after(time.Second, "complete", 6)
		w.redis.put(10)
		w.after(500*time.Millisecond, "complete", 16)
		if got := w.host.sizes(); !slices.Equal(got, []int{6, 10}) {
			t.Errorf("messages of %v, want 6 and 10", got)
		}
		w.putFor(time.Second, 3)
		w.s.Drain() // what waits for others goes back
		w.wait()
		w.want("waiting", 3)
	})
}

// A message that comes to grief is one ending for the breaker, costs its jobs nothing, and they come again in
// smaller ones.
func TestAMessageThatComesToGriefIsOneEnding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := batched(t, 1, 100)
		griefs := 0
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			if griefs++; griefs > 100 {
				return said(protocol.Ack)
			}
			return &runner.Ending{Kind: runner.TimedOut, Group: "timeout", Batch: 100, Began: true, ExitCode: -1}
		}
		w.redis.put(100)
		opened := false
		w.cfg.OnEvent = func(e Event) { opened = opened || e.Kind == BreakerOpened }
		w.runFor(time.Minute, 0)
		w.want("complete", 100)
		w.end()
		if got := w.host.sizes(); got[0] != 100 || slices.Max(got[1:]) > 50 {
			t.Errorf("messages of %v, want 100 and then 50 at most", got)
		}
		if opened {
			t.Error("one message opened the breaker")
		}
		for i := range 100 {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Remaining != j.Retries || j.Crashes != 0 {
				t.Errorf("it cost %s: %+v", j.JID, j.Taken)
			}
		}
	})
}

// One that is cancelled, or whose lock is lost, leaves the others of its message as they are.
func TestOneOfAMessageIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := batched(t, 1, 5)
		w.host.work = lasting(3 * time.Second)
		w.runFor(time.Second, 5)
		w.redis.steal("j4", "another")
		w.after(30*time.Second, "complete", 4)
		if j := w.redis.job("j4"); j.worker != "another" {
			t.Errorf("the job that was lost was settled: %+v", j)
		}
	})
}

// A reply that was lost hides no job of a message, and settles none twice.
func TestMessagesThroughLostReplies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := batched(t, 2, 20)
		calls := 0
		w.redis.faults(func(call string) fault {
			if call != "exchange" {
				return fault{}
			}
			if calls++; calls%3 == 0 {
				return fault{lost: errDoubt}
			}
			return fault{}
		})
		w.runFor(5*time.Minute, 200)
		w.want("complete", 200)
		for i := range 200 {
			same(t, w.host.begun(fmt.Sprintf("j%d", i)), 1, "j%d was begun %d times", i)
		}
	})
}
