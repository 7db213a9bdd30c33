package cron

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/schedule"
	"oarlock/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a strict store with one recurring job, in virtual time.
type fake struct {
	t       *testing.T
	mu      sync.Mutex    // for what is below
	late    time.Duration // of the latest run
	cron    *queue.Cron   // nil: there is none
	due     time.Time
	rev     int
	by      string   // whose file it is of, by instance; "" by hand
	runs    []string // jids that were put
	given   int      // runs given up
	away    bool
	refuses bool          // whatever is to be put
	asked   int           // how often it refused
	ahead   time.Duration // of Redis' clock
}

func (f *fake) now() time.Time { return time.Now().Add(f.ahead) }

func (f *fake) Now() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return float64(f.now().UnixMicro()) / 1e6
}

// with changes something of it.
func (f *fake) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) check(ctx context.Context) error {
	if ctx.Err() != nil {
		f.t.Error("a call with a context that ended")
	}
	if f.away {
		return queue.ErrAway
	}
	return nil
}

func (f *fake) AgreeCrons(ctx context.Context, h queue.CronHolder, file []queue.Cron) (all []queue.CronAgreement, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil {
		return nil, err
	}
	for _, c := range file {
		switch {
		case f.cron == nil:
			all = append(all, queue.CronAgreement{Word: queue.CronNew})
		case f.cron.Print() == c.Print():
			all = append(all, queue.CronAgreement{Word: queue.CronSame})
		default:
			all = append(all, queue.CronAgreement{Word: queue.CronNew, Rev: fmt.Sprint(f.rev), Next: f.due})
		}
	}
	return all, nil
}

func (f *fake) LeaveCrons(ctx context.Context, h queue.CronHolder, file []queue.Cron) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil || f.cron == nil || len(file) > 0 || f.by != h.Instance {
		return nil, err
	}
	name := f.cron.Name
	f.cron = nil
	return []string{name}, nil
}

func (f *fake) PutCron(ctx context.Context, c queue.Cron, rev string, next time.Time, h queue.CronHolder) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil {
		return false, err
	}
	f.rev++
	f.cron, f.due, f.by = &c, next, h.Instance
	return true, nil
}

func (f *fake) DueCrons(ctx context.Context) ([]queue.DueCron, float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil || f.cron == nil {
		return nil, 0, err
	}
	next := float64(f.due.Unix())
	if f.due.After(f.now()) {
		return nil, next, nil
	}
	return []queue.DueCron{{Name: f.cron.Name, Rev: fmt.Sprint(f.rev), Due: f.due, Schedule: f.cron.Schedule, Zone: f.cron.Zone, Missed: f.cron.Missed}}, next, nil
}

func (f *fake) AllCrons(ctx context.Context) ([]queue.DueCron, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil || f.cron == nil {
		return nil, err
	}
	return []queue.DueCron{{Name: f.cron.Name, Rev: fmt.Sprint(f.rev), Due: f.due, Schedule: f.cron.Schedule, Zone: f.cron.Zone, Missed: f.cron.Missed}}, nil
}

func (f *fake) RunCrons(ctx context.Context, runs []queue.CronRun) (all []queue.CronRan, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(ctx); err != nil {
		return nil, err
	}
	n := 0
	if f.refuses {
		f.asked++
		return slices.Repeat([]queue.CronRan{{Word: "refused", Why: "OOM"}}, len(runs)), nil
	}
	for _, r := range runs {
		n += len(r.Times)
		if r.Rev != fmt.Sprint(f.rev) || !r.Due.Equal(f.due) {
			all = append(all, queue.CronRan{Word: "changed"})
			continue
		}
		for _, at := range r.Times {
			if slices.Contains(f.runs, queue.RunJID(r.Name, at)) {
				continue // there is such a job
			}
			f.runs = append(f.runs, queue.RunJID(r.Name, at))
			f.late = max(f.late, f.now().Sub(at))
		}
		f.due, f.given = r.Next, f.given+r.GivenUp
		all = append(all, queue.CronRan{Word: "ran", Put: len(r.Times)})
	}
	if n > queue.CronRuns {
		f.t.Errorf("%d runs in one call", n)
	}
	return all, nil
}

// keep runs a keeper in virtual time beside what do says.
func keep(t *testing.T, file []queue.Cron, do func(f *fake, k *Keeper)) (f *fake, log string) {
	return keepOn(t, file, func(*fake) {}, do)
}

// keepOn is keep on a Redis to which something happened before.
func keepOn(t *testing.T, file []queue.Cron, before func(f *fake), do func(f *fake, k *Keeper)) (f *fake, log string) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		f = &fake{t: t}
		before(f)
		k := build(f, func(context.Context) {}, "fleet", slog.New(slog.NewTextHandler(&out, nil)))
		k.Set(file)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = k.Run(ctx) }()
		synctest.Wait()
		do(f, k)
		synctest.Wait()
		stop()
		<-done
	})
	return f, out.String()
}

func cronAt(schedule, zone string, missed queue.Missed) queue.Cron {
	return queue.Cron{Name: "c", Schedule: schedule, Zone: zone, Missed: missed, CronWork: queue.CronWork{Queue: "q", Klass: "K"}}
}

// In virtual time it is midnight UTC, 1 January 2000, a Saturday, when a test begins.
func TestRunsArePutWhenTheyAreDue(t *testing.T) {
	f, _ := keep(t, []queue.Cron{cronAt("0 4 * * Mon-Fri", "Europe/Berlin", "")}, func(f *fake, k *Keeper) {
		time.Sleep(3*24*time.Hour + 12*time.Hour)
	})
	if f.late > time.Second {
		t.Errorf("a run came %v late", f.late)
	}
	want := []string{"c@2000-01-03T03:00:00Z", "c@2000-01-04T03:00:00Z"}
	if !slices.Equal(f.runs, want) {
		t.Errorf("put %v, want %v", f.runs, want)
	}
}

// TestThreeDaysAway: no supervisor could put anything for three days.
func TestThreeDaysAway(t *testing.T) {
	for _, tt := range []struct {
		schedule     string
		missed       queue.Missed
		put, givenUp int
		last         string
	}{
		{"0 4 * * *", queue.RunOnce, 1, 2, "c@2000-01-03T04:00:00Z"},
		{"0 4 * * *", "", 1, 2, "c@2000-01-03T04:00:00Z"},
		{"0 4 * * *", queue.RunAll, 3, 0, "c@2000-01-03T04:00:00Z"},
		{"0 4 * * *", queue.Skip, 0, 3, ""},
		{"* * * * *", queue.RunOnce, 1, 1000 - 1, "c@2000-01-04T00:00:00Z"},
		{"* * * * *", queue.RunAll, 100, 1000 - 100, "c@2000-01-04T00:00:00Z"},
		{"* * * * *", queue.Skip, 1, 1000 - 1, "c@2000-01-04T00:00:00Z"},
		{"@every 20s", queue.Skip, 3, 1000 - 3, "c@2000-01-04T00:00:20Z"},
		{"@every 1s", queue.RunAll, 100, 1000 - 100, "c@2000-01-04T00:00:30Z"},
	} {
		t.Run(tt.schedule+" "+string(tt.missed), func(t *testing.T) {
			c := cronAt(tt.schedule, "", tt.missed)
			s := must.Get(schedule.Parse(c.Schedule, ""))(t)
			f, log := keepOn(t, []queue.Cron{c}, func(f *fake) {
				f.cron, f.due = &c, s.Next(time.Now())
				time.Sleep(72*time.Hour + 30*time.Second + 500*time.Millisecond)
			}, func(f *fake, k *Keeper) {})
			last := ""
			if len(f.runs) > 0 {
				last = f.runs[len(f.runs)-1]
			}
			if len(f.runs) != tt.put || f.given != tt.givenUp || last != tt.last {
				t.Errorf("put %d, the last %s, gave up %d; want %d, %s, %d", len(f.runs), last, f.given, tt.put, tt.last, tt.givenUp)
			}
			if !slices.IsSorted(f.runs) || len(slices.Compact(slices.Clone(f.runs))) != len(f.runs) {
				t.Errorf("put %v", f.runs)
			}
			if told := strings.Contains(log, "runs were missed"); told != (tt.givenUp > 0) {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// TestTheFileChangesWhenARunIsDue: in the second in which the old one comes and was not put.
func TestTheFileChangesWhenARunIsDue(t *testing.T) {
	for _, tt := range []struct{ next, want string }{
		{"0 4 * * *", "c@2000-01-01T04:00:00Z"},  // other data: the run is put, with these
		{"30 4 * * *", "c@2000-01-01T04:30:00Z"}, // another time
		{"0 3 * * *", "c@2000-01-02T03:00:00Z"},  // one that has passed is not made up for
	} {
		f, _ := keep(t, []queue.Cron{cronAt("0 4 * * *", "", "")}, func(f *fake, k *Keeper) {
			time.Sleep(time.Until(time.Date(2000, 1, 1, 3, 59, 58, 0, time.UTC)))
			f.with(func() { f.away = true })
			time.Sleep(2500 * time.Millisecond)
			f.with(func() { f.away = false })
			next := cronAt(tt.next, "", "")
			next.Data = []byte(`{"new":1}`)
			k.Set([]queue.Cron{next})
			time.Sleep(24*time.Hour - time.Minute)
		})
		if len(f.runs) == 0 || f.runs[0] != tt.want {
			t.Errorf("%s: put %v, want %s first", tt.next, f.runs, tt.want)
		}
	}
}

// What left the file ends, and what was put into it at run time recurs, both at once.
func TestTheFileIsFollowed(t *testing.T) {
	f, log := keep(t, nil, func(f *fake, k *Keeper) {
		time.Sleep(time.Hour)
		k.Set([]queue.Cron{cronAt("@hourly", "", "")})
		synctest.Wait()
		if f.cron == nil {
			t.Error("it does not recur")
		}
		k.Set(nil)
		synctest.Wait()
		if f.cron != nil {
			t.Error("it did not end")
		}
	})
	if len(f.runs) > 0 || strings.Count(log, "it has left the file") != 1 {
		t.Errorf("put %v; %s", f.runs, log)
	}
}

// TestRedisLosesEverything: FLUSHALL; the file brings it back, without the past.
func TestRedisLosesEverything(t *testing.T) {
	f, _ := keep(t, []queue.Cron{cronAt("@hourly", "", queue.RunAll)}, func(f *fake, k *Keeper) {
		time.Sleep(90 * time.Minute)
		f.with(func() { f.cron = nil })
		time.Sleep(time.Hour)
	})
	if want := []string{"c@2000-01-01T01:00:00Z", "c@2000-01-01T02:00:00Z"}; !slices.Equal(f.runs, want) {
		t.Errorf("put %v, want %v", f.runs, want)
	}
}

// TestTheClockOfRedisCounts: it is two hours ahead of ours, and then jumps back.
func TestTheClockOfRedisCounts(t *testing.T) {
	f, _ := keep(t, []queue.Cron{cronAt("@hourly", "", "")}, func(f *fake, k *Keeper) {
		f.with(func() { f.ahead = 2 * time.Hour })
		time.Sleep(61 * time.Minute)
		f.with(func() { f.ahead = 0 })
		time.Sleep(3 * time.Hour)
	})
	if want := []string{"c@2000-01-01T02:00:00Z", "c@2000-01-01T03:00:00Z", "c@2000-01-01T04:00:00Z"}; !slices.Equal(f.runs, want) {
		t.Errorf("put %v, want %v", f.runs, want)
	}
}

// TestTheClockOfRedisWasAYearAhead for a moment: what recurs does not wait for a year.
func TestTheClockOfRedisWasAYearAhead(t *testing.T) {
	f, log := keep(t, []queue.Cron{cronAt("@daily", "", queue.RunOnce)}, func(f *fake, k *Keeper) {
		f.with(func() { f.ahead = 365 * 24 * time.Hour })
		time.Sleep(time.Minute)
		f.with(func() { f.ahead = 0 })
		time.Sleep(49 * time.Hour)
	})
	if want := []string{"c@2000-12-31T00:00:00Z", "c@2000-01-02T00:00:00Z", "c@2000-01-03T00:00:00Z"}; !slices.Equal(f.runs, want) {
		t.Errorf("put %v, want %v", f.runs, want)
	}
	if !strings.Contains(log, "went back") {
		t.Errorf("the log says %s", log)
	}
}

// TestDueInPrehistory: what somebody wrote into Redis is not counted through.
func TestDueInPrehistory(t *testing.T) {
	for _, due := range []int64{-1 << 62, -62135596799, 0} {
		run := plan(queue.DueCron{Name: "c", Schedule: "0 0 1 1 *", Due: time.Unix(due, 0), Missed: queue.RunAll}, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), queue.CronRuns)
		if len(run.Times) != 10 || run.Next.Year() != 2027 {
			t.Errorf("due at %d: %+v", due, run)
		}
	}
}

// TestNothingCanBePut: every run is refused, and it is not asked for in a loop.
func TestNothingCanBePut(t *testing.T) {
	keep(t, []queue.Cron{cronAt("@hourly", "", "")}, func(f *fake, k *Keeper) {
		f.with(func() { f.refuses = true })
		time.Sleep(61 * time.Minute)
		f.with(func() {
			if f.asked < 5 || f.asked > 70 {
				t.Errorf("asked %d times in a minute", f.asked)
			}
		})
	})
}

// TestOfFiveKeepersOnlyOnePuts: five of them, one Redis, a job every second.
func TestOfFiveKeepersOnlyOnePuts(t *testing.T) {
	server := redistest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	file := []queue.Cron{cronAt("@every 1s", "", queue.RunAll)}
	var done []chan struct{}
	for range 5 {
		client := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL}))(t)
		defer client.Close()
		k := New(client, func(context.Context) {}, "fleet", slog.New(slog.DiscardHandler))
		k.Set(file)
		ended := make(chan struct{})
		done = append(done, ended)
		go func() { defer close(ended); _ = k.Run(ctx) }()
	}
	client, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var cron queue.Cron
	for deadline := time.Now().Add(30 * time.Second); cron.Runs < 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		cron, _ = client.Cron(t.Context(), "c")
	}
	stop()
	for _, ended := range done {
		<-ended
	}
	if cron, err = client.Cron(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	jobs, err := client.Peek(t.Context(), "q", 0, 1000)
	if err != nil || cron.Runs < 2 || len(jobs) != cron.Runs || cron.Rev == "" {
		t.Fatalf("%d jobs of %+v, %v", len(jobs), cron, err)
	}
}

// TestSkippedRunsAreSaidOnceAnHour, with how many there were: it may be as it should.
func TestSkippedRunsAreSaidOnceAnHour(t *testing.T) {
	_, log := keep(t, nil, func(f *fake, k *Keeper) {
		for range 121 {
			k.skipped("c", 1)
			time.Sleep(time.Minute)
		}
	})
	if strings.Count(log, "were skipped") != 3 || strings.Count(log, "skipped=60") != 2 {
		t.Errorf("the log says %s", log)
	}
}
