package queue_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// nightly is a recurring job with all that one can have.
var nightly = queue.Cron{
	Name: "nightly", Schedule: "0 4 * * Mon-Fri", Zone: "Europe/Berlin", Missed: queue.RunAll, Overlap: queue.QueueOne,
	CronWork: queue.CronWork{Queue: "reports", Klass: "Report", Data: []byte(`{"full": [], "n": 12345678901234567890}`), Priority: 2.5, Retries: 3, Tags: []string{"a", "b"}},
}

// ago is a moment of whole seconds before the server's time.
func ago(c *queue.Client, d time.Duration) time.Time {
	return time.Unix(int64(c.Now()), 0).UTC().Add(-d)
}

// makeCron makes one by hand that was due a while ago, and lists it among the due.
func makeCron(t *testing.T, c *queue.Client, cron queue.Cron, due time.Duration) queue.DueCron {
	t.Helper()
	ok(t, c.Ping(t.Context()))
	stop(t, !must(c.PutCron(t.Context(), cron, queue.AnyRev, ago(c, due), queue.CronHolder{}))(t), "it was not put")
	return dueCron(t, c, cron.Name)
}

func dueCron(t *testing.T, c *queue.Client, name string) queue.DueCron {
	t.Helper()
	due, _, err := c.DueCrons(t.Context())
	ok(t, err)
	for _, d := range due {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("%s is not due", name)
	return queue.DueCron{}
}

// runCron puts runs that were due so long ago.
func runCron(t *testing.T, c *queue.Client, d queue.DueCron, runs ...time.Duration) queue.CronRan {
	t.Helper()
	run := queue.CronRun{DueCron: d, Next: ago(c, -time.Hour)}
	for _, back := range runs {
		run.Times = append(run.Times, ago(c, back))
	}
	return must(c.RunCrons(t.Context(), []queue.CronRun{run}))(t)[0]
}

// cronKeys are the keys that there are of recurring jobs of ours.
func cronKeys(t *testing.T, c *queue.Client) []string {
	t.Helper()
	keys, _, err := c.Redis().Scan(t.Context(), 0, "ql:oarlock:cron*", 10_000).Result()
	ok(t, err)
	return keys
}

func TestCronsAreReadAsTheyWerePut(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ok(t, c.Ping(t.Context()))
		next := ago(c, -time.Hour)
		stop(t, !must(c.PutCron(t.Context(), nightly, "", next, queue.CronHolder{}))(t), "it was not put")
		want := nightly
		want.Next, want.Rev = float64(next.Unix()), "1"
		equal(t, "it", must(c.Cron(t.Context(), "nightly"))(t), want)
		equal(t, "all", must(c.Crons(t.Context()))(t), []queue.Cron{want})
		equal(t, "print", want.Print(), nightly.Print())
		if must(c.PutCron(t.Context(), nightly, "", next, queue.CronHolder{}))(t) || must(c.PutCron(t.Context(), nightly, "7", next, queue.CronHolder{}))(t) {
			t.Error("it was replaced by somebody who had not seen it")
		}
		ok(t, c.EndCron(t.Context(), "nightly"))
		if err := c.EndCron(t.Context(), "nightly"); err != queue.ErrNoJob {
			t.Errorf("ended twice: %v", err)
		}
		equal(t, "left", cronKeys(t, c), []string{})
	})
}

// TestARunIsPutOnce lets five supervisors put the same run, at once and again.
func TestARunIsPutOnce(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		d := makeCron(t, c, nightly, 10*time.Second)
		var wait sync.WaitGroup
		words := make([]string, 5)
		for i := range words {
			wait.Go(func() {
				answers, err := c.RunCrons(t.Context(), []queue.CronRun{{DueCron: d, Times: []time.Time{d.Due}, Next: ago(c, -time.Hour)}})
				if err == nil {
					words[i] = fmt.Sprint(answers[0].Word, answers[0].Put)
				}
			})
		}
		wait.Wait()
		if got := strings.Join(words, " "); strings.Count(got, "ran1") != 1 || strings.Count(got, "changed0") != 4 {
			t.Errorf("they were told %s", got)
		}
		job := must(c.Get(t.Context(), queue.RunJID("nightly", d.Due)))(t)
		if string(job.Data) != string(nightly.Data) || job.Queue != "reports" || job.Klass != "Report" || job.Priority != 2.5 || job.Retries != 3 || fmt.Sprint(job.Tags) != "[a b]" {
			t.Errorf("put %+v", job)
		}
		counts := must(c.Queues(t.Context()))(t)
		never(t, len(counts) != 1 || counts[0].Waiting != 1, "the queues are %+v", counts)
		after := must(c.Cron(t.Context(), "nightly"))(t)
		never(t, after.Runs != 1 || after.LastJID != job.JID || int64(after.Last) != d.Due.Unix(), "it is now %+v", after)
		// A run whose reply was lost is asked for again; the job is there, complete by now, and stays so.
		reply, _ := take(t, session(t, c, "w"), queue.Take{Queues: []string{"reports"}, Count: 1})
		settle(t, session(t, c, "w"), reply.Jobs[0], queue.Settlement{Action: queue.Complete})
		ok(t, c.Redis().HSet(t.Context(), "ql:oarlock:cron:nightly", "due", d.Due.Unix(), "last-jid", "").Err())
		again := must(c.RunCrons(t.Context(), []queue.CronRun{{DueCron: d, Times: []time.Time{d.Due}, Next: ago(c, -time.Hour)}}))(t)
		equal(t, "again", again[0].Word, "ran")
		equal(t, "its job", must(c.Get(t.Context(), job.JID))(t).State, "complete")
	})
}

func TestOverlap(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		s := session(t, c, "w")
		for overlap, want := range map[queue.Overlap]string{queue.Allow: "3 0", queue.SkipRun: "1 2", queue.QueueOne: "1 1"} {
			cron := nightly
			cron.Name, cron.Queue, cron.Overlap, cron.Tags = string(overlap), string(overlap), overlap, nil
			ran := runCron(t, c, makeCron(t, c, cron, 30*time.Second), 30*time.Second, 20*time.Second, 10*time.Second)
			if got := fmt.Sprint(ran.Put, ran.Skipped); got != want {
				t.Errorf("%s: put and skipped %s, want %s", overlap, got, want)
			}
		}
		// What waits is looked at every second, and comes when the last is over, however it ended.
		soon := must(c.Redis().ZScore(t.Context(), "ql:oarlock:crons", "queue-one").Result())(t)
		if wait := soon - c.Now(); wait > 1 {
			t.Errorf("it is looked at in %v s", wait)
		}
		ok(t, c.Redis().ZAdd(t.Context(), "ql:oarlock:crons", redis.Z{Member: "queue-one", Score: 1}).Err())
		d := dueCron(t, c, "queue-one")
		if ran := runCron(t, c, d); ran.Put != 0 || ran.Skipped != 0 {
			t.Errorf("put %+v while the last is alive", ran)
		}
		waits := must(c.Cron(t.Context(), "queue-one"))(t)
		stop(t, waits.Pending == 0, "nothing waits: %+v", waits)
		reply, _ := take(t, s, queue.Take{Queues: []string{"queue-one"}, Count: 1})
		settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
		ok(t, c.Redis().ZAdd(t.Context(), "ql:oarlock:crons", redis.Z{Member: "queue-one", Score: 1}).Err())
		d = dueCron(t, c, "queue-one")
		if ran := runCron(t, c, d); ran.Put != 1 {
			t.Errorf("the last is over: %+v", ran)
		}
		if now := must(c.Cron(t.Context(), "queue-one"))(t); now.Pending != 0 || now.Last != waits.Pending || now.Runs != 2 || now.Skipped != 1 {
			t.Errorf("it is %+v", now)
		}
		// A last job that is gone is over, too.
		cron := must(c.Cron(t.Context(), "skip"))(t)
		ok(t, c.Cancel(t.Context(), cron.LastJID))
		if ran := runCron(t, c, makeCron(t, c, cron, time.Second), time.Second); ran.Put != 1 {
			t.Errorf("the last was cancelled: %+v", ran)
		}
	})
}

// TestFilesAgree has two supervisors with an old and a new file: the new one counts, whoever says
// so last, until it is gone.
func TestFilesAgree(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ok(t, c.Ping(t.Context()))
		old, next := nightly, nightly
		next.Schedule = "0 5 * * *"
		a, b := queue.CronHolder{Fleet: "f", Instance: "a"}, queue.CronHolder{Fleet: "f", Instance: "b"}
		agree := func(who queue.CronHolder, file queue.Cron) queue.CronWord {
			t.Helper()
			word := must(c.AgreeCrons(t.Context(), who, []queue.Cron{file}))(t)[0]
			stop(t, word.Word == queue.CronNew && !must(c.PutCron(t.Context(), file, word.Rev, ago(c, -time.Hour), who))(t), "it was not put")
			return word.Word
		}
		gone := func(who string) {
			ok(t, c.Redis().HSet(t.Context(), "ql:oarlock:cron-held:nightly", who, fmt.Sprint(int64(c.Now())-90, " ", next.Print())).Err())
		}
		equal(t, "first", agree(a, old), queue.CronNew)
		equal(t, "again", agree(a, old), queue.CronSame)
		ok(t, c.Redis().Del(t.Context(), "ql:oarlock:crons").Err())
		equal(t, "the list is lost", agree(a, old), queue.CronNew)
		equal(t, "and there again", agree(a, old), queue.CronSame)
		equal(t, "a newer file", agree(b, next), queue.CronNew)
		for range 3 { // no flapping
			equal(t, "the old one", agree(a, old), queue.CronOther)
			equal(t, "the new one", agree(b, next), queue.CronSame)
		}
		equal(t, "schedule", must(c.Cron(t.Context(), "nightly"))(t).Schedule, "0 5 * * *")
		gone("b")
		equal(t, "the old one alone", agree(a, old), queue.CronNew)
		equal(t, "schedule", must(c.Cron(t.Context(), "nightly"))(t).Schedule, old.Schedule)
		// Both let go of it: it ends with the second.
		equal(t, "the new one is an old one now", agree(b, next), queue.CronOther)
		equal(t, "one leaves", must(c.LeaveCrons(t.Context(), b, nil))(t), []string(nil))
		equal(t, "another fleet leaves", must(c.LeaveCrons(t.Context(), queue.CronHolder{Fleet: "g", Instance: "c"}, nil))(t), []string(nil))
		if err := c.EndCron(t.Context(), "nightly"); err != queue.ErrHeld {
			t.Errorf("ended by hand: %v", err)
		}
		equal(t, "both have left", must(c.LeaveCrons(t.Context(), a, nil))(t), []string{"nightly"})
		equal(t, "what is left", cronKeys(t, c), []string{})
		// What was made by hand stays.
		makeCron(t, c, nightly, time.Second)
		equal(t, "by hand", agree(a, next), queue.CronHand)
		equal(t, "it stays", must(c.LeaveCrons(t.Context(), a, nil))(t), []string(nil))
		equal(t, "schedule", must(c.Cron(t.Context(), "nightly"))(t).Schedule, old.Schedule)
	})
}

func TestAPausedCronPutsNothing(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		d := makeCron(t, c, nightly, time.Second)
		stop(t, must(c.PauseCron(t.Context(), "nightly", "0"))(t) || !must(c.PauseCron(t.Context(), "nightly", d.Rev))(t), "it is not paused")
		if ran := runCron(t, c, d, time.Second); ran.Word != "changed" {
			t.Errorf("it ran: %+v", ran)
		}
		due, next, err := c.DueCrons(t.Context())
		never(t, err != nil || len(due) != 0 || !math.IsInf(next, 1), "due are %v, the next at %v: %v", due, next, err)
		// A new definition does not change that.
		paused := must(c.Cron(t.Context(), "nightly"))(t)
		must(c.PutCron(t.Context(), nightly, paused.Rev, ago(c, time.Second), queue.CronHolder{}))(t)
		paused = must(c.Cron(t.Context(), "nightly"))(t)
		due, _, _ = c.DueCrons(t.Context())
		never(t, !paused.Paused || len(due) != 0, "it is due: %+v", paused)
		stop(t, !must(c.ResumeCron(t.Context(), "nightly", paused.Rev, ago(c, time.Second)))(t), "it is not resumed")
		dueCron(t, c, "nightly")
	})
}

// TestADamagedCronHoldsUpNoOther: keys of another type, runs that cannot be put, a name without
// anything behind it.
func TestADamagedCronHoldsUpNoOther(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		makeCron(t, c, nightly, 10*time.Second)
		ok(t, c.Redis().Set(ctx, "ql:oarlock:cron:text", "x", 0).Err())
		ok(t, c.Redis().ZAdd(ctx, "ql:oarlock:crons", redis.Z{Member: "text", Score: 1}, redis.Z{Member: "nothing", Score: 1}).Err())
		bad := nightly
		bad.Name = "bad"
		d := makeCron(t, c, bad, 5*time.Second)
		ok(t, c.Redis().Set(ctx, "ql:j:"+queue.RunJID("bad", d.Due), "x", 0).Err())
		good := dueCron(t, c, "nightly")
		answers := must(c.RunCrons(ctx, []queue.CronRun{
			{DueCron: d, Times: []time.Time{d.Due}, Next: ago(c, -time.Hour)},
			{DueCron: queue.DueCron{Name: "text", Rev: "1"}},
			{DueCron: good, Times: []time.Time{good.Due}, Next: ago(c, -time.Hour)},
		}))(t)
		never(t, answers[0].Word != "refused" || answers[0].Why == "" || answers[1].Word != "refused" || answers[2].Word != "ran", "answered %+v", answers)
		due, _, err := c.DueCrons(ctx)
		never(t, err != nil || len(due) != 0, "still due: %v, %v", due, err)
		for _, cron := range must(c.Crons(ctx))(t) {
			never(t, cron.Name == "text" && cron.Damage == "", "it does not look damaged")
		}
	})
}

// Names are anything that can be seen, and keys and jids tell them apart.
func TestNamesOfCrons(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		for _, name := range []string{"a b", "ä:ö", "*", "[x]", "nightly@2026-01-01T00:00:00Z", "'; return 1 --", `"`, "a", "-held:a", "%s"} {
			cron := nightly
			cron.Name = name
			d := makeCron(t, c, cron, time.Second)
			if ran := runCron(t, c, d, 0, time.Second); ran.Word != "ran" || ran.Put != 1 {
				t.Errorf("%q: %+v", name, ran)
			}
			equal(t, name, must(c.Cron(t.Context(), name))(t).Name, name)
		}
		for _, name := range []string{"", "a\nb", "a\x00b", "\x1b[1m", "\xff", strings.Repeat("x", 201)} {
			cron := nightly
			cron.Name = name
			if _, err := c.PutCron(t.Context(), cron, "", time.Time{}, queue.CronHolder{}); err == nil {
				t.Errorf("%q was taken for a name", name)
			}
		}
	})
}

// TestForeignClientsDoNotSeeCrons: a pop by a client of the protocol spawns nothing of ours, and
// its lists do not have it.
func TestForeignClientsDoNotSeeCrons(t *testing.T) {
	c := fresh(t)
	makeCron(t, c, nightly, time.Hour)
	jobs, err := c.Pop(t.Context(), "reports", "foreign", 10)
	never(t, err != nil || len(jobs) != 0, "popped %v, %v", jobs, err)
	if queues := must(c.Queues(t.Context()))(t); len(queues) != 0 {
		t.Errorf("there are queues: %+v", queues)
	}
	keys := must(c.Redis().Keys(t.Context(), "*").Result())(t)
	for _, key := range keys {
		never(t, !strings.HasPrefix(key, "ql:oarlock:") && key != "ql:workers", "there is %s", key)
	}
}

// TestAThousandCronsAtOnce lets five supervisors put what is due in the same minute: each run
// once, and no call does more than it should.
func TestAThousandCronsAtOnce(t *testing.T) {
	c := fresh(t)
	ok(t, c.Ping(t.Context()))
	at := ago(c, 30*time.Second)
	for i := range 1000 {
		cron := nightly
		cron.Name, cron.Overlap, cron.Tags = fmt.Sprintf("c%03d", i), queue.SkipRun, nil
		must(c.PutCron(t.Context(), cron, "", at, queue.CronHolder{}))(t)
	}
	put, most := make([]int, 5), make([]int, 5)
	var wait sync.WaitGroup
	for i := range put {
		wait.Go(func() { put[i], most[i] = putAllDue(t.Context(), c) })
	}
	wait.Wait()
	total := 0
	for i := range put {
		total += put[i]
		never(t, most[i] > queue.CronRuns, "%d were due at once", most[i])
	}
	equal(t, "runs", total, 1000)
	equal(t, "jobs", must(c.Queues(t.Context()))(t)[0].Waiting, 1000)
}

// putAllDue puts the run that is due of each recurring job, and counts.
func putAllDue(ctx context.Context, c *queue.Client) (put, most int) {
	for {
		due, _, err := c.DueCrons(ctx)
		if err != nil || len(due) == 0 {
			return put, most
		}
		most = max(most, len(due))
		var runs []queue.CronRun
		for _, d := range due {
			runs = append(runs, queue.CronRun{DueCron: d, Times: []time.Time{d.Due}, Next: d.Due.Add(24 * time.Hour)})
		}
		answers, err := c.RunCrons(ctx, runs)
		if err != nil {
			return put, most
		}
		for _, a := range answers {
			put += a.Put
		}
	}
}

// TestCommandsOfCrons counts what one call does at most.
func TestCommandsOfCrons(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server)
	ok(t, c.Ping(t.Context()))
	at := ago(c, time.Second)
	for i := range 100 {
		cron := nightly
		cron.Name = fmt.Sprint(i)
		must(c.PutCron(t.Context(), cron, "", at, queue.CronHolder{Fleet: "f", Instance: "a"}))(t)
	}
	count := func(what string, most int, call func()) {
		t.Helper()
		call() // loads the script
		ok(t, c.Redis().ConfigResetStat(t.Context()).Err())
		call()
		calls := 0
		for line := range strings.Lines(must(c.Redis().Info(t.Context(), "commandstats").Result())(t)) {
			var n int
			if name, rest, found := strings.Cut(line, ":calls="); found && name != "cmdstat_evalsha" {
				fmt.Sscan(strings.Split(rest, ",")[0], &n)
				calls += n
			}
		}
		never(t, calls > most, "%s: %d commands, at most %d are meant to be", what, calls, most)
	}
	var all []queue.Cron
	for i := range 40 {
		cron := nightly
		cron.Name = fmt.Sprint(i)
		all = append(all, cron)
	}
	count("agree", 240, func() { must(c.AgreeCrons(t.Context(), queue.CronHolder{Fleet: "f", Instance: "b"}, all))(t) })
	count("due", 35, func() { _, _, _ = c.DueCrons(t.Context()) })
	count("run", 500, func() {
		due, _, err := c.DueCrons(t.Context())
		ok(t, err)
		var runs []queue.CronRun
		for _, d := range due {
			runs = append(runs, queue.CronRun{DueCron: d, Times: []time.Time{d.Due}, Next: at})
		}
		equal(t, "runs", len(must(c.RunCrons(t.Context(), runs))(t)), queue.CronRuns)
	})
}

// TestOverlapOfRunsThatMerge lets the job that has the data of the last run go into another, that is tried again: the run is over when that is.
func TestOverlapOfRunsThatMerge(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		merging(t, c, queue.KeyOrder{Merge: queue.MergeAll})
		s := session(t, c, "w")
		merged(t, c, "k", `1`, 1)
		first, _ := runs(t, s)
		cron := nightly
		cron.Queue, cron.Klass, cron.Overlap, cron.Tags = "q", "K", queue.SkipRun, []string{"key:k"}
		other := cron
		other.Name = "other"
		for _, one := range []queue.Cron{cron, other} { // the second merges into the run of the first
			if ran := runCron(t, c, makeCron(t, c, one, 30*time.Second), 30*time.Second); ran.Put != 1 {
				t.Fatalf("%s: %+v", one.Name, ran)
			}
		}
		settle(t, s, first[0], queue.Settlement{Action: queue.Retry, Delay: time.Hour})
		if _, err := c.Get(t.Context(), must(c.Cron(t.Context(), "other"))(t).LastJID); err != nil {
			t.Errorf("the last run is of a job that is not there: %v", err)
		}
		again := func(name string) queue.CronRan {
			t.Helper()
			ok(t, c.Redis().ZAdd(t.Context(), "ql:oarlock:crons", redis.Z{Member: name, Score: 1}).Err())
			return runCron(t, c, dueCron(t, c, name), time.Second)
		}
		for _, name := range []string{cron.Name, other.Name} {
			if ran := again(name); ran.Put != 0 || ran.Skipped != 1 {
				t.Errorf("%s: the last run is to be tried again with another, and of the next one it says %+v", name, ran)
			}
		}
		now(t, c, first[0].JID)
		all, told := runs(t, s)
		stop(t, len(all) != 1 || all[0].JID != first[0].JID, "given are %+v, %q", all, told)
		settle(t, s, all[0], queue.Settlement{Action: queue.Complete})
		for _, name := range []string{cron.Name, other.Name} {
			if ran := again(name); ran.Put != 1 {
				t.Errorf("%s: the last is over: %+v", name, ran)
			}
		}
	})
}
