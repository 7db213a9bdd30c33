package ops

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"oarlock/internal/doctor"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Outlook is how the backlog of a queue goes on if it goes on as it did. Where Word is measuring, paused or held, only
// the basis is known.
type Outlook struct {
	// Word is one of: measuring (fewer than three looks), paused, held (something keeps jobs from being taken; Says tells
	// what), empty, empties, steady, grows.
	Word string `json:"word"`
	Says string `json:"says"` // the same in words, with its numbers

	EmptyIn   float64 `json:"empty_in,omitempty"`   // of empties: seconds until nothing waits, if as much comes as did
	AtBest    float64 `json:"at_best,omitempty"`    // and if nothing more came
	GrowsBy   float64 `json:"grows_by,omitempty"`   // of grows: jobs a minute
	Children  int     `json:"children,omitempty"`   // of steady and grows: about so many are needed for it not to grow
	Running   int     `json:"running"`              // the basis: so many jobs run now
	Waiting   int     `json:"waiting"`              // so many wait
	Looks     int     `json:"looks"`                // at the queue, that were
	Over      float64 `json:"over"`                 // seconds between the first and the last of them
	Completed float64 `json:"completed_per_minute"` // in that time
	MeanRun   float64 `json:"mean_run"`             // seconds a job ran, of those
}

// Look is what was seen of a queue at one moment.
type Look struct {
	At        float64 // seconds since the epoch
	Waiting   int     // those that wait for a place in a throttle are among them
	Running   int
	Completed int     // today; it begins anew at midnight
	Ran       float64 // seconds that those ran in all
	Paused    bool
	Unserved  float64 // seconds, as in Queue
}

// lookAt is the look that a census is.
func lookAt(c queue.QueueCensus, at float64) Look {
	return Look{at, c.Waiting + c.Throttled, c.Running, c.Today.Completed, float64(c.Today.Completed) * c.Today.MeanRun, c.Paused, doctor.UnservedFor(c, at).Seconds()}
}

// Forecast reckons an outlook from looks, oldest first. held says what keeps jobs from being taken, such as "nobody listens";
// "" if nothing is known to.
func Forecast(looks []Look, held string) Outlook {
	if len(looks) == 0 {
		return Outlook{Word: "measuring", Says: "measuring"}
	}
	first, last := looks[0], looks[len(looks)-1]
	o := Outlook{Waiting: last.Waiting, Running: last.Running, Looks: len(looks), Over: last.At - first.At}
	done, ran := 0, 0.0
	for i, look := range looks[1:] {
		if more := look.Completed - looks[i].Completed; more >= 0 {
			done, ran = done+more, ran+look.Ran-looks[i].Ran
		} else { // a new day
			done, ran = done+look.Completed, ran+look.Ran
		}
	}
	if done > 0 {
		o.MeanRun = max(0, ran/float64(done))
	} else if last.Completed > 0 {
		o.MeanRun = last.Ran / float64(last.Completed) // what is known of the day
	}
	if o.Over > 0 {
		o.Completed = 60 * float64(done) / o.Over
	}
	switch {
	case last.Waiting == 0 && !last.Paused:
		o.Word, o.Says = "empty", "nothing waits"
	case last.Paused:
		o.Word, o.Says = "paused", "never: paused"
	case held == "" && last.Unserved > 0:
		o.Word, o.Says = "held", "never: none runs, and the next waits for "+screen.Seconds(last.Unserved)
	case held != "":
		o.Word, o.Says = "held", "never: "+held
	case len(looks) < 3 || o.Over <= 0:
		o.Word, o.Says = "measuring", "measuring"
	default:
		o.trend(slope(looks)*60, busy(looks), drained(looks))
	}
	return o
}

// steadyPart is which part of what is completed a backlog may grow or shrink by and count as steady.
const steadyPart = 0.01

// busy is how many jobs ran at a time, on the average.
func busy(looks []Look) float64 {
	sum := 0
	for _, look := range looks {
		sum += look.Running
	}
	return float64(sum) / float64(len(looks))
}

// drained reports whether nothing waited at one of the later looks: such a queue keeps up, whatever waits in between.
func drained(looks []Look) bool {
	return slices.ContainsFunc(looks[len(looks)/2:], func(l Look) bool { return l.Waiting == 0 })
}

// trend goes on with a backlog that grows by so many jobs a minute, at which so many children were at work at a time.
func (o *Outlook) trend(perMinute, busy float64, drained bool) {
	if perMinute < 0 && -perMinute > steadyPart*o.Completed {
		o.Word = "empties"
		o.EmptyIn = 60 * float64(o.Waiting) / -perMinute
		o.Says = "in " + screen.Seconds(math.Ceil(o.EmptyIn))
		if o.Completed > 0 {
			o.AtBest = min(o.EmptyIn, 60*float64(o.Waiting)/o.Completed)
			o.Says += fmt.Sprintf(" (%s if no more came)", screen.Seconds(math.Ceil(o.AtBest)))
		}
		return
	}
	grows := max(0, perMinute)
	if drained {
		grows = 0 // between two moments at which nothing waits, jobs come and go
	}
	// Jobs that take long are at work, but not yet among those that ended. So what was worked in all counts, too.
	perJob := o.MeanRun / 60 // minutes
	if o.Completed > 0 {
		perJob = max(perJob, busy/o.Completed)
	}
	o.Children = int(math.Ceil((o.Completed+grows)*perJob - 1e-9)) // 30 times a 30th is 1, and not 1.0000000000000002
	if grows <= steadyPart*o.Completed {
		o.Word = "steady"
		o.Says = "never: as much comes as goes"
	} else {
		o.Word, o.GrowsBy = "grows", grows
		o.Says = fmt.Sprintf("never: grows by %s a minute", screen.Some(int(math.Ceil(grows)), "job"))
	}
	switch {
	case o.Completed == 0:
		o.Children = 0
		o.Says += ", and none was completed"
	case o.MeanRun == 0:
		o.Children = 0
	default:
		o.Says += fmt.Sprintf("; needs about %s, %d at work", someChildren(o.Children), o.Running)
	}
}

// someChildren is a number of them in words.
func someChildren(n int) string {
	if n == 1 {
		return "1 child"
	}
	return screen.Count(n) + " children"
}

// slope is by how many jobs a second the waiting became more, by least squares.
func slope(looks []Look) float64 {
	var at, waiting float64
	for _, look := range looks {
		at += look.At
		waiting += float64(look.Waiting)
	}
	n := float64(len(looks))
	at, waiting = at/n, waiting/n
	var up, squares float64
	for _, look := range looks {
		up += (look.At - at) * (float64(look.Waiting) - waiting)
		squares += (look.At - at) * (look.At - at)
	}
	if squares == 0 {
		return 0
	}
	return up / squares
}

// Over how long looks count, how far apart they are kept, and of how many queues.
const (
	looksOver   = 5 * time.Minute
	looksApart  = 5 * time.Second
	looksQueues = 10_000
)

// Looks remembers what was seen of queues in the last five minutes, for their outlook. Whoever counts queues anyway feeds
// it. The zero value has seen nothing. It is safe for concurrent use.
type Looks struct {
	mu sync.Mutex
	of map[string][]Look
}

// Add remembers a census, of a moment that is not before those it knows.
func (l *Looks) Add(census []queue.QueueCensus, at float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string][]Look{}
	}
	for _, c := range census {
		looks, known := l.of[c.Name]
		if c.Damage != "" || !known && len(l.of) >= looksQueues {
			continue
		}
		l.of[c.Name] = append(thin(looks, at), lookAt(c, at))
	}
	for name, looks := range l.of {
		if looks[len(looks)-1].At < at-looksOver.Seconds() {
			delete(l.of, name)
		}
	}
}

// thin drops looks that are too old beside one that comes at a time, and the last if it is too close to the one before it.
func thin(looks []Look, at float64) []Look {
	old := 0
	for old < len(looks) && looks[old].At < at-looksOver.Seconds() {
		old++
	}
	looks = looks[old:]
	if n := len(looks); n > 1 && looks[n-1].At-looks[n-2].At < looksApart.Seconds() {
		looks = looks[:n-1]
	}
	return looks
}

// Outlook is how the backlog of a queue goes on; held as in Forecast.
func (l *Looks) Outlook(name, held string) Outlook {
	l.mu.Lock()
	looks := slices.Clone(l.of[name])
	l.mu.Unlock()
	return Forecast(looks, held)
}

// QueueOutlook is the outlook of a queue.
type QueueOutlook struct {
	Queue string `json:"queue"`
	Outlook
}

// etaLooks are how many looks Eta takes.
const etaLooks = 6

// Eta looks several times, over a while, at the queues that one of patterns matches, names or globs, or at all if there is none, and
// tells their outlooks. A name that is no queue's is *Missing.
func Eta(ctx context.Context, q *queue.Client, patterns []string, over time.Duration) ([]QueueOutlook, error) {
	if over < time.Second {
		return nil, &Wrong{"over", "must be a second at least"}
	}
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) {
			if err := KnownQueues(ctx, q, pattern); err != nil {
				return nil, err
			}
		}
	}
	names, err := q.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	if len(patterns) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !queue.MatchAny(patterns, name) })
	}
	looks := make([][]Look, len(names))
	for i := range etaLooks {
		if i > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(over / (etaLooks - 1)):
			}
		}
		census, at, err := q.Census(ctx, names)
		if err != nil {
			return nil, err
		}
		for n, c := range census {
			looks[n] = append(looks[n], lookAt(c, at))
		}
	}
	all := make([]QueueOutlook, len(names))
	for n, name := range names {
		all[n] = QueueOutlook{name, Forecast(looks[n], "")}
	}
	return all, nil
}
