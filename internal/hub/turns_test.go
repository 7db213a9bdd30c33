package hub

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Turns that end by the thousand are one event of their queue a second, for who listens; those of many queues are few events, too.
func TestTurnsAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := started(t, Options{})
		ends := func(n int, in, key string, action queue.Action, state string) {
			for i := range n {
				job := &protocol.Job{JID: fmt.Sprint("j", i), Klass: "K", Queue: in, Key: key}
				h.Note(supervisor.Event{Kind: supervisor.Settled, Pool: "p", Job: job, Action: action, State: state})
			}
		}
		ends(10, "q", "k", queue.Complete, "complete") // nobody listens yet
		l := h.Listen()
		defer l.Close()
		read := func(n int) (all []Event) { // they may come in several batches
			for len(all) < n {
				batch, missed, err := l.Next(t.Context())
				if err != nil || missed {
					t.Fatalf("missed %v, %v", missed, err)
				}
				all = append(all, batch...)
			}
			if len(all) > n {
				t.Fatalf("%d events, want %d", len(all), n)
			}
			return all
		}
		ends(3000, "q", "k", queue.Complete, "complete")
		ends(1, "q", "last", queue.Fail, "failed")
		ends(5, "q", "k", queue.Retry, "scheduled") // it keeps the turn
		ends(5, "q", "", queue.Complete, "complete")
		ends(2, "r", "k", queue.Retry, "failed")
		batch := read(2)
		if e := batch[0]; e.Kind != supervisor.TurnsEnded || e.Queue != "q" || e.Count != 3001 || e.Name != "last" || e.JID != "j0" || e.Klass != "K" {
			t.Errorf("told is %+v", e)
		}
		if e := batch[1]; e.Queue != "r" || e.Count != 2 {
			t.Errorf("told is %+v", e)
		}
		began := time.Now()
		for n := range 100 {
			ends(100-n, fmt.Sprint("queue", n), "k", queue.Complete, "complete")
		}
		batch = read(mostTurns + 1)
		if e := batch[0]; e.Queue != "queue0" || e.Count != 100 || time.Since(began) < turnsPause {
			t.Errorf("told is %+v after %v", e, time.Since(began))
		}
		if e := batch[mostTurns]; e.Queue != "" || e.JID != "" || e.Count != 80*81/2 {
			t.Errorf("of the others is told %+v", e)
		}
	})
}
