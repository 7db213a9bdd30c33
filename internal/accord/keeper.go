package accord

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"oarlock/internal/rules"
	"oarlock/queue"
)

const (
	// lookPause is how often is looked what rules there are.
	lookPause = 5 * time.Second
	// againPause is how soon is looked again after a failure.
	againPause = time.Second
)

// State is how the rules of a file and those in Redis stand to each other.
type State struct {
	Version   string           `json:"version,omitempty"`   // of those in Redis; "" if there are none
	Conflicts []rules.Conflict `json:"conflicts,omitempty"` // what the file has otherwise
	Trouble   string           `json:"trouble,omitempty"`   // why they could not be made to agree; "" if they could
}

// Sentences say what of the file does not count, why, and what to do; none if all does.
func (s State) Sentences() (told []string) {
	if s.Trouble != "" {
		told = append(told, "The rules of the file do not count: "+s.Trouble)
	}
	for _, c := range s.Conflicts {
		told = append(told, c.String())
	}
	return told
}

// Keeper makes Redis have the rules of a supervisor's file: all of them when it begins and when the file has changed, and
// later those that nobody has. Its methods are safe for concurrent use.
type Keeper struct {
	store  Store
	await  func(context.Context)
	hold   func(bool)
	log    *slog.Logger
	news   chan struct{}         // of size 1: the file has changed
	said   map[string]bool       // sentences that were logged since the file has changed; of the goroutine of Run, as looked
	told   func(before, now int) // see Tell; nil: nobody hears
	looked bool                  // it has seen which rules there are
	passed func(Opening)         // see TellWindows; nil: nobody hears
	stood  map[string]bool       // whether each window was open, as last told; of the goroutine of Run

	openings openings

	mu    sync.Mutex // for memory only, and hold
	file  rules.File
	files int // how many it had so far
	state State
	there rules.Compiled // those in Redis, as last seen
}

// NewKeeper makes a keeper. It does nothing before Run. await returns when Redis is there, or its context ends. hold is told
// whether the file has rules that may not count yet, so that no job is taken that they concern; it must not block.
func NewKeeper(store Store, await func(context.Context), hold func(bool), log *slog.Logger) *Keeper {
	return &Keeper{store: store, await: await, hold: hold, log: log, news: make(chan struct{}, 1), said: map[string]bool{}, stood: map[string]bool{}}
}

// Set says what the file says now; it was checked.
func (k *Keeper) Set(file rules.File) {
	k.mu.Lock()
	k.file = file
	k.files++
	k.hold(!file.Set.Empty())
	k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// Expect has nothing taken before what a file will say counts, which Set is told next, whatever it says.
func (k *Keeper) Expect(file rules.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files++ // so that no look at another file ends that
	k.hold(!file.Set.Empty())
}

// Tell has told hear of every change of the rules in Redis that the keeper sees, its own and those of others, but of the first that it sees:
// how many were installed so far, before and now. It is called before Run, and told from Run's goroutine; it must not wait.
func (k *Keeper) Tell(told func(before, now int)) { k.told = told }

// File is what the file says now.
func (k *Keeper) File() rules.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.file
}

// State is how it stands, as last seen.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Throttles are those of the rules in Redis, as last seen. The caller must not change them.
func (k *Keeper) Throttles() map[string]rules.CompiledThrottle {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.there.Throttles
}

// Counts are how many rules were installed in Redis so far, as last seen, and how many of the file do not count.
func (k *Keeper) Counts() (version, conflicts int) {
	state := k.State()
	version = numberOf(state.Version)
	if conflicts = len(state.Conflicts); state.Trouble != "" {
		conflicts = max(conflicts, 1)
	}
	return version, conflicts
}

// numberOf is how many rules were installed up to those of a version; 0 of "", which is none.
func numberOf(version string) int {
	text, _, _ := strings.Cut(version, "@")
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return number
}

// Run keeps them until ctx ends. While Redis is away it waits; it returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	agreed := false // with the file as it is now
	for {
		k.await(ctx)
		if ctx.Err() != nil {
			return nil
		}
		select {
		case <-k.news: // of the file that is looked at now
			agreed = false
			clear(k.said)
		default:
		}
		wait := jittered(lookPause)
		if err := k.look(ctx, !agreed); err == nil {
			agreed = true
		} else {
			wait = againPause
			k.failure(ctx, err)
		}
		timer := time.NewTimer(min(wait, k.watch()))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.news:
			agreed = false
			clear(k.said)
		}
		timer.Stop()
	}
}

// jittered is pause, a tenth more or less, so that many supervisors do not ask at once.
func jittered(pause time.Duration) time.Duration {
	return pause - pause/10 + rand.N(pause/5)
}

// look makes the file and Redis agree, or adds what nobody has.
func (k *Keeper) look(ctx context.Context, agree bool) error {
	k.mu.Lock()
	file, seen, files := k.file, k.state, k.files
	k.mu.Unlock()
	if !agree && seen.Trouble == "" {
		there, err := k.store.Rules(ctx)
		if err != nil || there.Version == seen.Version {
			return err
		}
	}
	r, err := Apply(ctx, k.store, func(d rules.Document) (rules.Document, []rules.Conflict) {
		if agree {
			return d.Agree(file, false)
		}
		return d.Missing(file)
	})
	if err != nil {
		return err
	}
	if r.Installed {
		for _, change := range r.Before.Changes(r.After) {
			k.log.Info("a rule counts as the file says", "rule", change.Entry, "change", change.Word)
		}
	}
	for _, c := range r.Conflicts {
		k.warn(c.String())
	}
	set, unread := r.After.Set()
	if unread == nil {
		k.openings.set(set.Windows)
	}
	k.mu.Lock()
	if unread == nil {
		k.there = rules.Compile(set)
	}
	k.state = State{Version: r.Version, Conflicts: r.Conflicts}
	if files == k.files { // else another is to come
		k.hold(false)
	}
	k.mu.Unlock()
	if k.told != nil && k.looked && r.Version != seen.Version {
		k.told(numberOf(seen.Version), numberOf(r.Version))
	}
	k.looked = true
	return nil
}

// warn logs a sentence, once until the file changes.
func (k *Keeper) warn(sentence string) {
	if !k.said[sentence] {
		k.said[sentence] = true
		k.log.Warn(sentence)
	}
}

// failure tells of an error. That Redis is away is said by others.
func (k *Keeper) failure(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, queue.ErrAway) || errors.Is(err, queue.ErrDoubt) {
		return
	}
	k.warn("the rules of the file do not count: " + err.Error())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.Trouble = err.Error()
	k.hold(false) // it may last, and work goes on by the rules that are there
}
