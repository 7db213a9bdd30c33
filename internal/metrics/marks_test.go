package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/supervisor"
)

// marksAtMost is how many samples there are at most of what is counted of order, limits and answers, whatever the names.
const marksAtMost = 51*(5+4+1+1+5+1) + 6 + 4 + 13 + 1 + 2 + 2*mostWindows

var (
	gateWords = []queue.GateWord{queue.GateFree, queue.GateWaited, queue.GateLent, queue.GateBypass, queue.GateResumed,
		queue.GateFull, queue.GateShare, queue.GateRate, queue.GateBehind, queue.GateWindow}
	turnWords = []string{queue.TurnEnded, queue.TurnGone, queue.TurnElsewhere, queue.TurnGhost, queue.TurnRest, queue.TurnLost}
)

// markAll lets m hear of all that is counted of order, limits and answers, in a thousand queues, throttles, classes and windows.
func markAll(m *Metrics) {
	for n := range 1000 {
		name := fmt.Sprint("name\n\xff", n)
		var said []queue.GateCount
		for _, word := range gateWords {
			said = append(said, queue.GateCount{Queue: name, Word: word, Jobs: 1})
		}
		m.Note(supervisor.Event{Kind: supervisor.RoundTrip, Gate: said})
		m.Note(supervisor.Event{Kind: supervisor.Tended, Tended: &queue.Tended{Places: map[string]int{name: 1}}})
		for _, word := range []string{"resumed", "kept", "again", "late", "refused"} {
			m.Note(supervisor.Event{Kind: supervisor.Answered, Klass: name, Reason: word})
		}
		m.Note(supervisor.Event{Kind: supervisor.ParkTimedOut, Job: &protocol.Job{Klass: name}})
	}
	m.Note(supervisor.Event{Kind: supervisor.AnswersRead, Count: 3, Broken: 1})
	for _, word := range turnWords {
		m.Note(supervisor.Event{Kind: supervisor.Tended, Tended: &queue.Tended{Mended: map[string]int{word: 1}}})
	}
	for _, word := range []queue.Merged{queue.MergedIn, queue.MergedEqual, queue.MergedReplaced, queue.MergedKept} {
		m.Merged(string(word))
	}
	job := &protocol.Job{Klass: "K", Merge: "set", Scores: []float64{1, 2, 3}}
	m.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: "pool0", Job: job})
	m.Note(supervisor.Event{Kind: supervisor.Settled, Job: job, Action: queue.Fail, State: "failed"})
	m.Windows(func() (all []Window) {
		for n := range 1000 {
			all = append(all, Window{Name: fmt.Sprint("w", n)})
		}
		return all
	})
}

// What the gate says, turns and places that went on, payloads that merge and fail, answers and windows are told as they were.
func TestWhatIsToldOfOrderAndLimits(t *testing.T) {
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	m := New(optionsOf(&shot))
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "p"})
	for range 2 {
		m.Note(supervisor.Event{Kind: supervisor.RoundTrip, Pool: "p", Gate: []queue.GateCount{
			{Queue: "q", Word: queue.GateFree, Jobs: 3}, {Queue: "q", Word: queue.GateFull, Jobs: 2}, {Queue: "q", Word: queue.GateWindow, Jobs: 1},
		}})
	}
	m.Note(supervisor.Event{Kind: supervisor.Tended, Tended: &queue.Tended{Mended: map[string]int{queue.TurnGone: 2}, Places: map[string]int{"erp": 4}}})
	run := func(action queue.Action, state, part string, scores ...float64) {
		job := &protocol.Job{JID: "j", Klass: "K", Queue: "q", Merge: "set", Scores: scores}
		m.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: "p", Job: job})
		m.Note(supervisor.Event{Kind: supervisor.Settled, Pool: "p", Job: job, Action: action, State: state, Part: part,
			Puts: []queue.PutResult{{Merged: queue.MergedEqual}, {}}})
	}
	run(queue.Complete, "complete", "", 1, 2)
	run(queue.Retry, "scheduled", "", 1, 2)
	run(queue.Release, "waiting", "j-1", 1, 2, 3) // its oldest payload has failed: it crashed too often
	run(queue.Fail, "failed", "", 1, 2)
	m.Note(supervisor.Event{Kind: supervisor.Settled, Pool: "p", Job: &protocol.Job{Klass: "K"}, Action: queue.Fail, State: "failed"}) // it merges with nothing
	m.Merged("kept")
	m.Note(supervisor.Event{Kind: supervisor.Answered, Klass: "Pay", Name: "order-1", Reason: "resumed"})
	m.Note(supervisor.Event{Kind: supervisor.ParkTimedOut, Pool: "p", Job: &protocol.Job{Klass: "Pay"}})
	m.Note(supervisor.Event{Kind: supervisor.AnswersRead, Count: 3, Broken: 1})
	m.Windows(func() []Window {
		return []Window{{Name: "night", Open: true, Opens: time.Unix(2000, 0)}, {Name: "never"}}
	})
	got := values(t, scraped(t, m.page))
	for sample, want := range map[string]float64{
		`oarlock_gate_started_total{path="free",queue="q"}`:      6,
		`oarlock_gate_filed_total{queue="q",rule="full"}`:        4,
		`oarlock_window_moves_total{queue="q"}`:                  2,
		`oarlock_lanes_mended_total{cause="gone"}`:               2,
		`oarlock_places_mended_total{throttle="erp"}`:            4,
		`oarlock_puts_merged_total{result="equal"}`:              4,
		`oarlock_puts_merged_total{result="kept"}`:               1,
		`oarlock_run_payloads_count`:                             4,
		`oarlock_run_payloads_sum`:                               9,
		`oarlock_payloads_dead_total`:                            3,
		`oarlock_responses_total{klass="Pay",word="resumed"}`:    1,
		`oarlock_park_timeouts_total{klass="Pay"}`:               1,
		`oarlock_responses_read_total{result="taken"}`:           3,
		`oarlock_responses_read_total{result="broken"}`:          1,
		`oarlock_window_open{window="night"}`:                    1,
		`oarlock_window_opens_timestamp_seconds{window="night"}`: 2000,
		`oarlock_window_open{window="never"}`:                    0,
		`oarlock_window_opens_timestamp_seconds{window="never"}`: 0,
	} {
		if n, told := got[sample]; !told || n != want {
			t.Errorf("%s is %v (%v), want %v", sample, n, told, want)
		}
	}
}

// Of a thousand names fifty have a label of their own, the rest is one; whatever they are, the page can be read; and what nothing happened
// of is not told.
func TestNamesOfOrderAndLimitsAreBounded(t *testing.T) {
	shot := supervisor.Snapshot{Ready: true, Redis: "ok"}
	m := New(optionsOf(&shot))
	for sample := range again(t, m) {
		for _, row := range []*metric{gateStarted, gateFiled, windowMoves, placesMended, lanesMended, putsMerged, runPayloads, payloadsDead, responses, parkTimeouts, windowOpen} {
			if strings.HasPrefix(sample, row.name) {
				t.Errorf("told is %s", sample)
			}
		}
	}
	m.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "pool0"})
	for _, name := range hostile {
		m.Note(supervisor.Event{Kind: supervisor.RoundTrip, Gate: []queue.GateCount{{Queue: name, Word: queue.GateFree, Jobs: 1}}})
		m.Note(supervisor.Event{Kind: supervisor.Answered, Klass: name, Name: name, Reason: "late"})
		m.Note(supervisor.Event{Kind: supervisor.Tended, Tended: &queue.Tended{Places: map[string]int{name: 1}}})
	}
	markAll(m)
	clear(m.page.bodies)
	text := scraped(t, m.page)
	for _, row := range []*metric{windowMoves, placesMended, parkTimeouts} {
		if n := strings.Count(text, "\n"+row.name+"{"); n != mostMarked+1 {
			t.Errorf("of %s there are %d", row.name, n)
		}
	}
	got := values(t, text)
	if n := got[`oarlock_window_moves_total{queue="_other"}`]; n != 1000-mostMarked {
		t.Errorf("of the others %v were put off", n)
	}
	checked(t, text)
}
