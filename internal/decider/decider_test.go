package decider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/queue"
)

// fake is a Redis in which jobs wait for a command.
type fake struct {
	mu      sync.Mutex
	waiting []string
	number  int
	until   time.Time // of the question that is open
	next    time.Time
	asked   map[string]int // by whom
	told    []queue.Decision
	starts  []string
}

func newFake(jids ...string) *fake { return &fake{waiting: jids, asked: map[string]int{}} }

func (f *fake) Now() float64 { return float64(time.Now().UnixMilli()) / 1000 }

func (f *fake) AskDecider(ctx context.Context, _, asker string, lease time.Duration) (queue.Question, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if err := ctx.Err(); err != nil || now.Before(f.until) || now.Before(f.next) || len(f.waiting) == 0 {
		return queue.Question{}, err
	}
	f.number++
	f.until = now.Add(lease)
	f.asked[asker]++
	q := queue.Question{Number: f.number}
	for _, jid := range f.waiting {
		q.Candidates = append(q.Candidates, queue.Candidate{JID: jid, Queue: "q", Klass: "K", Data: []byte("{}"), Size: 2, Attempt: 1, Put: f.Now() - 2, Places: 1})
	}
	return q, nil
}

func (f *fake) Decide(_ context.Context, _ string, number int, d queue.Decision) ([]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if number != f.number || time.Now().After(f.until) {
		return nil, queue.ErrNotAsked
	}
	f.until, f.next = time.Time{}, time.Now().Add(d.Pause)
	f.told = append(f.told, d)
	done := make([]bool, len(d.Verdicts))
	for i, v := range d.Verdicts {
		done[i] = true
		if v.Verb == queue.VerdictStart {
			f.starts = append(f.starts, v.JID)
			f.waiting = f.waiting[1:]
		}
	}
	return done, nil
}

// run has keepers, one for each of runs, ask for so long.
func run(t *testing.T, f *fake, long time.Duration, runs ...Run) []*Keeper {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var all sync.WaitGroup
	var keepers []*Keeper
	for i, r := range runs {
		k := New(f, r, func(context.Context) {}, fmt.Sprint("web", i), slog.New(slog.DiscardHandler))
		k.Set(map[string]Command{"planner": {Argv: []string{"planner"}, Timeout: time.Second, Every: time.Second}})
		keepers = append(keepers, k)
		all.Go(func() { k.Run(ctx) })
	}
	all.Wait()
	return keepers
}

// startsFirst is a command that lets the first start.
func startsFirst(_ context.Context, _ string, _ Command, input []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(input, &q); err != nil {
		return nil, err
	}
	time.Sleep(100 * time.Millisecond)
	return fmt.Appendf(nil, "loading plugins\n{\"@\":\"answer\",\"start\":[%q]}\n\n", q.Candidates[0].JID), nil
}

func TestOneAsksAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9")
		var asking atomic.Int32
		one := func(ctx context.Context, throttle string, c Command, input []byte) ([]byte, error) {
			if asking.Add(1) > 1 {
				t.Error("two ask at a time")
			}
			defer asking.Add(-1)
			return startsFirst(ctx, throttle, c, input)
		}
		keepers := run(t, f, time.Minute, one, one)
		if len(f.starts) != 9 || f.number != 9 {
			t.Errorf("%d started by %d questions", len(f.starts), f.number)
		}
		asked := 0
		for _, k := range keepers {
			asked += k.Counts()["planner"].Asked
		}
		if asked != 9 {
			t.Errorf("counted %d questions", asked)
		}
	})
}

// A command that fails for a while is told of once, and once when it decides again: looks between questions, and Redis away, say
// nothing of it.
func TestTroubleIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("j1")
		well := time.Now().Add(time.Minute)
		var log bytes.Buffer
		k := New(f, func(ctx context.Context, throttle string, c Command, input []byte) ([]byte, error) {
			if time.Now().Before(well) {
				return nil, errors.New("sh exited with code 3")
			}
			return startsFirst(ctx, throttle, c, input)
		}, func(context.Context) {}, "web", slog.New(slog.NewTextHandler(&log, nil)))
		k.Set(map[string]Command{"planner": {Argv: []string{"planner"}, Timeout: time.Second, Every: time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		k.Run(ctx)
		if failed := k.Counts()["planner"].Failed[CauseRun]; failed < 5 || len(f.starts) != 1 {
			t.Fatalf("it failed %d times, and let %q start", failed, f.starts)
		}
		text := log.String()
		if strings.Count(text, "decides nothing") != 1 || strings.Count(text, "decides again") != 1 {
			t.Errorf("the log has\n%s", text)
		}
	})
}

// The one that asks dies: its lease ends, and the other goes on.
func TestWhoAsksDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("j1", "j2")
		dying, die := context.WithCancel(t.Context())
		k := New(f, func(ctx context.Context, _ string, _ Command, _ []byte) ([]byte, error) {
			die()
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(context.Context) {}, "dead", slog.New(slog.DiscardHandler))
		k.Set(map[string]Command{"planner": {Argv: []string{"planner"}, Timeout: time.Second, Every: time.Second}})
		k.Run(dying)
		if len(f.told) != 0 || f.asked["dead"] != 1 {
			t.Fatalf("who died decided: %+v", f.told)
		}
		began := time.Now()
		run(t, f, 10*time.Second, startsFirst)
		if len(f.starts) != 2 {
			t.Errorf("%d started within %v", len(f.starts), time.Since(began))
		}
	})
}

// A command that fails is asked again after a while, and what holds meanwhile the rules say.
func TestACommandThatFails(t *testing.T) {
	for what, tt := range map[string]struct {
		answer string
		err    error
		cause  string
		want   string
	}{
		"is not there":      {"", errors.New("start planner: no such file"), CauseRun, "no such file"},
		"says nothing":      {"", nil, CauseAnswer, "it printed nothing, and not a JSON object with start"},
		"talks nonsense":    {"start: j1", nil, CauseAnswer, `its answer "start: j1" is no JSON object`},
		"answers a list":    {`["j1"]`, nil, CauseAnswer, "is no JSON object"},
		"asks itself":       {`{"@":"ask"}`, nil, CauseAnswer, `it answered "ask", and not answer`},
		"holds for ever":    {`{"hold":{"j1":1e9}}`, nil, CauseAnswer, `hold of "j1" is 1e+09; it goes from 0 to 3600 seconds`},
		"goes back in time": {`{"delay":{"j1":-1}}`, nil, CauseAnswer, `delay of "j1" is -1`},
		"shuts for ever":    {`{"shut":1e300}`, nil, CauseAnswer, "shut is 1e+300"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("j1")
			k := run(t, f, 12*time.Second, func(context.Context, string, Command, []byte) ([]byte, error) { return []byte(tt.answer), tt.err })[0]
			if n := len(f.told); n < 2 || n > 3 {
				t.Fatalf("one that %s was asked %d times in 12 s", what, n)
			}
			d := f.told[0]
			if !strings.Contains(d.Trouble, tt.want) || d.Open != failurePause || d.Pause != failurePause || len(d.Verdicts) != 0 {
				t.Errorf("of one that %s Redis is told %+v; want %s", what, d, tt.want)
			}
			if c := k.Counts()["planner"]; c.Failed[tt.cause] != len(f.told) {
				t.Errorf("of one that %s is counted %+v", what, c)
			}
		})
	}
}

func TestWhatAnAnswerSays(t *testing.T) {
	q := queue.Question{Candidates: []queue.Candidate{{JID: "j1", Queue: "q"}, {JID: "j2", Queue: "q"}, {JID: "j3", Queue: "p"}, {JID: "j4", Queue: "q"}}}
	d, unknown, err := decisionOf([]byte(`{"start":["j1","j2","j1","else"],"hold":{"j2":30,"other":1},"delay":{"j3":0},"shut":7,"why":{"j2":"node 7 drains","j4":"`+strings.Repeat("é", 200)+`"},"more":1}`), q)
	if err != nil || unknown != 2 || d.Pause != 7*time.Second {
		t.Fatalf("%+v, %d unknown, %v", d, unknown, err)
	}
	want := []queue.Verdict{
		{JID: "j1", Queue: "q", Verb: queue.VerdictStart, For: permitTime},
		{JID: "j2", Queue: "q", Verb: queue.VerdictHold, For: 30 * time.Second, Why: "node 7 drains"},
		{JID: "j3", Queue: "p", Verb: queue.VerdictDelay, For: 100 * time.Millisecond},
		{JID: "j4", Queue: "q", Verb: queue.VerdictHold, For: usualHold, Why: strings.Repeat("é", 100) + "…"},
	}
	for i, v := range d.Verdicts {
		if v != want[i] {
			t.Errorf("%+v, want %+v", v, want[i])
		}
	}
}

// Whatever somebody wrote into Redis, what the command reads is one line of JSON.
func TestAQuestionIsALine(t *testing.T) {
	line, err := lineOf("pl\nanner", queue.Question{
		Number:     1,
		Candidates: []queue.Candidate{{JID: "a\x00\xff\n", Queue: "q:/ \u202e", Data: []byte("{nonsense"), Put: 1e300}},
		Running:    []queue.Running{{JID: "r", Since: 0}, {JID: "s", Since: 90, Data: []byte(`{"region":"eu"}`), Size: 15, Priority: 3, Tags: []string{"t"}, Queue: "q", Klass: "K", Places: 2}},
		More:       7,
		Places:     9,
	}, 100)
	var q question
	if err != nil || strings.Count(string(line), "\n") != 1 || json.Unmarshal(line, &q) != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if c := q.Candidates[0]; string(c.Data) != "null" || len(c.Tags) != 0 || c.Waited != 0 || q.Running[0].For != nil || *q.Running[1].For != 10 {
		t.Errorf("%s", line)
	}
	for _, want := range []string{`"more":7,"places":9}`, `{"jid":"r","klass":"","queue":"","priority":0,"tags":[],"places":0,"for":null,"data":null,"size":0}`,
		`{"jid":"s","klass":"K","queue":"q","priority":3,"tags":["t"],"places":2,"for":10,"data":{"region":"eu"},"size":15}`} {
		if !strings.Contains(string(line), want) {
			t.Errorf("%s has not %s", line, want)
		}
	}
}

// A reload ends what runs of the old command, and asks the new one.
func TestOtherCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("j1")
		var asked []string
		k := New(f, func(ctx context.Context, _ string, c Command, _ []byte) ([]byte, error) {
			if asked = append(asked, c.Argv[0]); c.Argv[0] == "old" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []byte(`{"start":["j1"]}`), nil
		}, func(context.Context) {}, "web", slog.New(slog.DiscardHandler))
		k.Set(map[string]Command{"planner": {Argv: []string{"old"}, Timeout: time.Second, Every: time.Second}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { k.Run(ctx) })
		synctest.Wait()
		k.Set(map[string]Command{"planner": {Argv: []string{"new"}, Timeout: time.Second, Every: time.Second}})
		time.Sleep(10 * time.Second)
		cancel()
		all.Wait()
		if fmt.Sprint(asked) != "[old new]" || len(f.starts) != 1 {
			t.Errorf("asked %v, started %v", asked, f.starts)
		}
	})
}

// A reload that leaves a command as it was leaves its question alone: nobody else may ask before the lease is over.
func TestAReloadLeavesQuestionsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("j1")
		asked := 0
		k := New(f, func(ctx context.Context, _ string, _ Command, _ []byte) ([]byte, error) {
			asked++
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return []byte(`{"start":["j1"]}`), nil
		}, func(context.Context) {}, "web", slog.New(slog.DiscardHandler))
		planner := func() Command { return Command{Argv: []string{"planner"}, Timeout: time.Second, Every: time.Second} }
		k.Set(map[string]Command{"planner": planner()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { k.Run(ctx) })
		synctest.Wait()
		k.Set(map[string]Command{"planner": planner()})
		time.Sleep(time.Second)
		synctest.Wait()
		if asked != 1 || len(f.starts) != 1 {
			t.Errorf("asked %d times, started %v", asked, f.starts)
		}
		k.Set(nil)
		synctest.Wait()
		f.mu.Lock()
		f.waiting = []string{"j2"}
		f.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if cancel(); asked != 1 {
			t.Error("a command that is gone is asked")
		}
		all.Wait()
	})
}
