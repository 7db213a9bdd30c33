package metrics

import (
	"sync"

	"oarlock/queue"
	"oarlock/supervisor"
)

// mostMarked is how many queues, and how many throttles, have a label of their own in what is counted of gates, turns and answers: those that come first.
const mostMarked = 50

// marks are what is counted of order, limits and answers. A name is that of a queue, a throttle or a class.
type marks struct {
	klasses *klassTallies // says which classes have a label
	payload *observations // of runs

	mu    sync.Mutex // of loops and a scrape
	named map[*metric]*names
	words map[*metric]map[string]int // of those that are by a word alone
	dead  int                        // payloads that failed
}

// names counts by a name, of which the first have a label, and a word.
type names struct {
	labels map[string]string // by name
	counts map[[2]string]int // by label and word
}

func newMarks(klasses *klassTallies) *marks {
	return &marks{
		klasses: klasses, payload: newObservations(runPayloads, []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, nil),
		named: map[*metric]*names{},
		words: map[*metric]map[string]int{responsesRead: {"taken": 0, "broken": 0}}, // for an alert: what comes into being as 1 has no increase
	}
}

// add counts n of a name and a word. The caller holds mu.
func (k *marks) add(m *metric, name, word string, n int) {
	of := k.named[m]
	if of == nil {
		of = &names{labels: map[string]string{}, counts: map[[2]string]int{}}
		k.named[m] = of
	}
	shown, known := of.labels[name]
	if !known {
		shown = other
		if name != other && len(of.labels) < mostMarked {
			shown = label(name)
			of.labels[name] = shown
		}
	}
	of.counts[[2]string{shown, word}] += n
}

// word counts n of a word. The caller holds mu.
func (k *marks) word(m *metric, word string, n int) {
	of := k.words[m]
	if of == nil {
		of = map[string]int{}
		k.words[m] = of
	}
	of[word] += n
}

// note hears an event that may have something of this.
func (k *marks) note(e *supervisor.Event) {
	switch e.Kind {
	case supervisor.RoundTrip:
		if len(e.Gate) > 0 {
			k.gate(e.Gate)
		}
	case supervisor.AttemptStarted:
		if e.Job.Merge != "" && len(e.Job.Scores) > 0 {
			k.payload.Observe(float64(len(e.Job.Scores)))
		}
	case supervisor.ParkTimedOut:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.add(parkTimeouts, k.klasses.named(e.Job.Klass), "", 1)
	case supervisor.AnswersRead:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.word(responsesRead, "taken", e.Count)
		k.word(responsesRead, "broken", e.Broken)
	case supervisor.Settled:
		k.settled(e)
	case supervisor.Tended:
		k.tended(e.Tended)
	case supervisor.Answered:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.add(responses, k.klasses.named(e.Klass), e.Reason, 1)
	}
}

// gate counts what the gate of ruled queues said of jobs.
func (k *marks) gate(said []queue.GateCount) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range said {
		switch c.Word {
		case queue.GateWindow:
			k.add(windowMoves, c.Queue, "", c.Jobs)
		case queue.GateFull, queue.GateShare, queue.GateRate, queue.GateBehind:
			k.add(gateFiled, c.Queue, string(c.Word), c.Jobs)
		default:
			k.add(gateStarted, c.Queue, string(c.Word), c.Jobs)
		}
	}
}

// settled counts what came of the puts of a child, and the payloads of a job that merges and failed: all of them, but of one
// whose retries are used up the oldest alone.
func (k *marks) settled(e *supervisor.Event) {
	merges := e.Job != nil && e.Job.Merge != ""
	if len(e.Puts) == 0 && !merges {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range e.Puts {
		if word := e.Puts[i].Merged; word != "" {
			k.word(putsMerged, string(word), 1)
		}
	}
	switch {
	case !merges:
	case e.Part != "":
		k.dead++
	case e.State == "failed":
		k.dead += max(len(e.Job.Scores), 1)
	}
}

// tended counts what went on that nobody had who lives.
func (k *marks) tended(t *queue.Tended) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for cause, n := range t.Mended {
		k.word(lanesMended, cause, n)
	}
	for throttle, n := range t.Places {
		k.add(placesMended, throttle, "", n)
	}
}

// tell tells all of it to a scrape.
func (k *marks) tell(s *scrape) {
	k.payload.tell(s)
	k.mu.Lock()
	defer k.mu.Unlock()
	for m, of := range k.named {
		for by, n := range of.counts {
			s.always(m, float64(n), by[:len(m.labels)]...)
		}
	}
	for m, words := range k.words {
		for word, n := range words {
			s.always(m, float64(n), word)
		}
	}
	s.number(payloadsDead, float64(k.dead))
}

// Merged counts a put over HTTP that merged with a job that waits.
func (m *Metrics) Merged(word string) {
	m.marks.mu.Lock()
	defer m.marks.mu.Unlock()
	m.marks.word(putsMerged, word, 1)
}
