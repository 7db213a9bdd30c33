package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// listed is a list with a session of it, and what is behind it.
type listed struct {
	t     *testing.T
	redis redis.UniversalClient
	c     *queue.Client
	list  queue.List
	s     *queue.ListSession
}

// hworker is how lists are in these tests, unless they say otherwise.
func hworker() queue.List {
	return queue.List{Name: "hworker:mail", Timeout: time.Minute, Heartbeat: true, Monitor: true, Failed: 1000}
}

func newListed(t *testing.T, l queue.List) *listed {
	t.Helper()
	return listedOn(t, redistest.Shared(t), l)
}

func listedOn(t *testing.T, server *redistest.Server, l queue.List) *listed {
	w := &listed{t: t, redis: server.Client(t), c: open(t, server), list: l}
	w.s = w.session("w")
	return w
}

func (w *listed) session(worker string) *queue.ListSession {
	s := w.c.ListSession(worker, w.list)
	w.t.Cleanup(func() { s.Close() })
	return s
}

// push pushes entries as another program does.
func (w *listed) push(entries ...string) {
	w.t.Helper()
	for _, entry := range entries {
		ok(w.t, w.redis.LPush(w.t.Context(), queue.ListKey(w.list.Name), entry).Err())
	}
}

// mail is the entry of job n.
func mail(n int) string { return fmt.Sprintf(`["id-%d",{"to":%d}]`, n, n) }

func (w *listed) take(n int) []queue.Taken {
	w.t.Helper()
	return w.exchange(nil, n).Jobs
}

func (w *listed) exchange(settlements []queue.Settlement, n int) queue.Reply {
	w.t.Helper()
	reply := must(w.s.Exchange(w.t.Context(), settlements, queue.Take{Count: n}))(w.t)
	return reply
}

// settle ends a taken job and returns what became of it.
func (w *listed) settle(t queue.Taken, s queue.Settlement) queue.SettleResult {
	w.t.Helper()
	s.JID, s.Queue, s.Popped = t.JID, t.Queue, t.Popped
	return w.exchange([]queue.Settlement{s}, 0).Results[0]
}

// lies lists what is in the list, the next first.
func (w *listed) lies() []string {
	w.t.Helper()
	all := w.redis.LRange(w.t.Context(), queue.ListKey(w.list.Name), 0, -1).Val()
	slices.Reverse(all)
	return all
}

// counts are the numbers of the list's entries, in words.
func (w *listed) counts() string {
	w.t.Helper()
	counts := must(w.c.CountLists(w.t.Context(), []string{w.list.Name}))(w.t)
	c := counts[0]
	return fmt.Sprintf("%d waiting, %d in work, %d failed, %d broken", c.Waiting, c.Progress, c.Failed, c.Broken)
}

// age makes what is in work so much older.
func (w *listed) age(by time.Duration) {
	w.t.Helper()
	ctx, key := w.t.Context(), "hworker-progress-mail"
	for entry, stamp := range w.redis.HGetAll(ctx, key).Val() {
		at := must(time.Parse(`"`+time.RFC3339Nano+`"`, stamp))(w.t)
		w.redis.HSet(ctx, key, entry, at.Add(-by).Format(`"2006-01-02T15:04:05.000`)+stamp[len(stamp)-11:])
	}
}

func jids(jobs []queue.Taken) string {
	var all []string
	for _, job := range jobs {
		all = append(all, job.JID)
	}
	return strings.Join(all, " ")
}

// What is pushed is taken first in, first out; what is acknowledged leaves no trace.
func TestListIsWorkedInOrderAndLeavesNothing(t *testing.T) {
	w := listedOn(t, redistest.Start(t), hworker())
	w.push(mail(1), mail(2), mail(3))
	jobs := w.take(2)
	stop(t, jids(jobs) != "id-1 id-2" || string(jobs[0].Data) != `{"to":1}` || jobs[0].Klass != "mail" || jobs[0].Queue != "hworker:mail", "took %+v", jobs)
	if keys := w.redis.Keys(t.Context(), "*").Val(); len(keys) != 2 || !slices.Contains(keys, "hworker-jobs-mail") || !slices.Contains(keys, "hworker-progress-mail") {
		t.Errorf("the keys are %q", keys)
	}
	third := w.exchange([]queue.Settlement{
		{JID: "id-1", Popped: jobs[0].Popped, Action: queue.Complete}, {JID: "id-2", Popped: jobs[1].Popped, Action: queue.Complete},
	}, 5).Jobs
	never(t, jids(third) != "id-3", "then took %+v", third)
	if r := w.settle(third[0], queue.Settlement{Action: queue.Complete}); r.Err != nil || r.State != "complete" {
		t.Errorf("settled as %+v", r)
	}
	written := func() string {
		return regexp.MustCompile(`rdb_changes_since_last_save:\d+`).FindString(w.redis.Info(t.Context(), "persistence").Val())
	}
	before := written()
	if jobs := w.take(5); len(jobs) > 0 || before == "" || written() != before {
		t.Errorf("of an empty list %d are taken, with %s where there was %s", len(jobs), written(), before)
	}
	if keys := w.redis.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("left are the keys %q", keys)
	}
}

// An older Redis has no BLMOVE, and may forbid it: the list is looked at a hundred times a second.
func TestListsOfAnOlderRedis(t *testing.T) {
	server := redistest.Start(t, "--rename-command", "BLMOVE", "")
	w := &listed{t: t, redis: server.Client(t), c: open(t, server), list: hworker()}
	w.s = w.session("w")
	if err := w.redis.Do(t.Context(), "BLMOVE", "a", "a", "RIGHT", "RIGHT", 1).Err(); err == nil {
		t.Fatal("this Redis is not old")
	}
	woken := make(chan error, 1)
	go func() { woken <- w.s.Await(context.WithoutCancel(t.Context())) }() // reports below
	asked := func() int {
		var n int
		_, calls, _ := strings.Cut(w.redis.Info(t.Context(), "commandstats").Val(), "cmdstat_llen:calls=")
		fmt.Sscan(strings.ReplaceAll(calls, ",", " "), &n)
		return n
	}
	for deadline := time.Now().Add(time.Minute); asked() < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // Redis tells nobody
	}
	select {
	case err := <-woken:
		t.Fatalf("of an empty list it says %v", err)
	default:
	}
	w.push(mail(1))
	if err := <-woken; err != nil {
		t.Error(err)
	}
	if jobs := w.take(2); jids(jobs) != "id-1" {
		t.Errorf("taken are %+v", jobs)
	}
}

// A job that is retried goes to the back, one that is given back or crashes to the front.
func TestListRetriesAtTheBackAndGivesBackAtTheFront(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2), mail(3))
	first := w.take(1)[0]
	if r := w.settle(first, queue.Settlement{Action: queue.Retry}); r.State != "waiting" {
		t.Errorf("settled as %+v", r)
	}
	second := w.take(1)[0]
	if r := w.settle(second, queue.Settlement{Action: queue.Release, Front: true, Counter: queue.CountInterruption}); r.State != "stalled" {
		t.Errorf("settled as %+v", r)
	}
	second = w.take(1)[0]
	if r := w.settle(second, queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3}); r.Crashes != 1 {
		t.Errorf("settled as %+v", r)
	}
	if got := fmt.Sprint(w.lies()); got != fmt.Sprint([]string{mail(2), mail(3), mail(1)}) {
		t.Errorf("in the list are %s", got)
	}
	again := w.take(3)
	if jids(again) != "id-2 id-3 id-1" || again[0].Crashes != 1 || again[0].Interruptions != 1 || again[2].Retries-again[2].Remaining != 1 {
		t.Errorf("took %+v", again)
	}
	if r := w.settle(again[0], queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 1, Group: "signal-9"}); r.State != "failed" {
		t.Errorf("settled as %+v", r)
	}
}

// What is given back in one call, in whatever order it ended, is in the list again as it was.
func TestListKeepsItsOrderWhereSeveralAreGivenBack(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2), mail(3), mail(4))
	jobs := w.take(3)
	var settlements []queue.Settlement
	for _, i := range []int{1, 0, 2} {
		settlements = append(settlements, queue.Settlement{JID: jobs[i].JID, Popped: jobs[i].Popped, Action: queue.Release, Front: true, Counter: queue.CountInterruption})
	}
	w.exchange(settlements, 0)
	if got := fmt.Sprint(w.lies()); got != fmt.Sprint([]string{mail(1), mail(2), mail(3), mail(4)}) {
		t.Errorf("in the list are %s", got)
	}
}

// A verdict about an attempt that is not the last one changes nothing, though the same session has the entry again.
func TestListVerdictOfAnEarlierAttemptIsLate(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1))
	first := w.take(1)[0]
	if r := w.settle(first, queue.Settlement{Action: queue.Retry}); r.Err != nil {
		t.Fatal(r.Err)
	}
	second := w.take(1)[0]
	if r := w.settle(first, queue.Settlement{Action: queue.Complete}); !errors.Is(r.Err, queue.ErrLockLost) {
		t.Errorf("a verdict of the first attempt is %+v", r)
	}
	if got := w.counts(); got != "0 waiting, 1 in work, 0 failed, 0 broken" {
		t.Error(got)
	}
	if r := w.settle(second, queue.Settlement{Action: queue.Complete}); r.Err != nil {
		t.Errorf("that of the second is %+v", r)
	}
}

// A bounded number of the entries that failed is kept, newest first, and why.
func TestListKeepsTheNewestFailures(t *testing.T) {
	w := newListed(t, hworker())
	const n = 1001
	for i := range n {
		w.push(mail(i))
	}
	for i := 0; i < n; i += 91 {
		var settlements []queue.Settlement
		for _, job := range w.take(91) {
			settlements = append(settlements, queue.Settlement{JID: job.JID, Popped: job.Popped, Action: queue.Fail, Group: "boom", Message: "no " + job.JID})
		}
		w.exchange(settlements, 0)
	}
	failed := w.redis.LRange(t.Context(), "hworker-failed-mail", 0, -1).Val()
	if len(failed) != 1000 || failed[0] != mail(n-1) || failed[999] != mail(1) {
		t.Errorf("%d are kept, from %s to %s", len(failed), failed[0], failed[len(failed)-1])
	}
	if reasons := w.redis.LRange(t.Context(), "ql:oarlock:reasons:hworker:mail", 0, -1).Val(); len(reasons) != 1000 || !strings.Contains(reasons[0], "no id-1000") {
		t.Errorf("%d reasons are kept, of which the first is %s", len(reasons), reasons[0])
	}
}

// With a limit an entry fails after so many retries; without one it never does.
func TestListRetriesAreLimitedWhereThatIsSaid(t *testing.T) {
	l := hworker()
	l.Retries = 2
	w := newListed(t, l)
	w.push(mail(1))
	for _, want := range []string{"waiting", "waiting", "failed"} {
		if r := w.settle(w.take(1)[0], queue.Settlement{Action: queue.Retry, Group: "g", Message: "m"}); r.State != want {
			t.Errorf("settled as %+v, want %s", r, want)
		}
	}
	if got := w.counts(); got != "0 waiting, 0 in work, 1 failed, 0 broken" {
		t.Error(got)
	}
	if n := w.redis.Exists(t.Context(), "ql:oarlock:tries:hworker:mail").Val(); n != 0 {
		t.Error("something is kept with an entry that failed")
	}
}

// Where the key space needs what is not known here nothing is taken, and nobody spins for it; what is in work is settled.
func TestListOfAKeySpaceThatNeedsMore(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2))
	job := w.take(1)[0]
	w.redis.SAdd(t.Context(), "ql:oarlock:needs", "shards", "keys")
	reply, err := w.s.Exchange(t.Context(), nil, queue.Take{Count: 1})
	never(t, err != nil || len(reply.Jobs) > 0 || len(reply.Broken) != 1 || reply.Broken[0].Lacks() != "shards", "took %+v, %v", reply, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := w.s.Await(ctx); err == nil {
		t.Error("an entry that may not be taken is waited for, and found")
	}
	if r := w.settle(job, queue.Settlement{Action: queue.Complete}); r.Err != nil {
		t.Errorf("settled as %+v", r)
	}
	w.redis.SRem(t.Context(), "ql:oarlock:needs", "shards")
	if jobs := w.take(1); jids(jobs) != "id-2" {
		t.Errorf("took %+v", jobs)
	}
}

// What is no envelope is kept, however much it is, until somebody puts it back or drops it.
func TestListKeepsAllThatIsNoJob(t *testing.T) {
	w := newListed(t, hworker())
	const all, each = 1300, 50
	for from := 0; from < all; from += each {
		for i := range each {
			w.push(fmt.Sprint("bad ", from+i))
		}
		if jobs := w.take(each); len(jobs) > 0 {
			t.Fatalf("took %+v", jobs)
		}
	}
	if got := w.counts(); got != "0 waiting, 0 in work, 0 failed, 1300 broken" {
		t.Error(got)
	}
	if n, err := w.c.RetryListBroken(t.Context(), "hworker:mail"); n != all || err != nil {
		t.Errorf("put back are %d (%v)", n, err)
	}
	if got := w.counts(); got != "1300 waiting, 0 in work, 0 failed, 0 broken" {
		t.Error(got)
	}
	w.take(each)
	if n, err := w.c.DropListBroken(t.Context(), "hworker:mail"); n != each || err != nil {
		t.Errorf("dropped are %d (%v)", n, err)
	}
	if got := w.counts(); got != "1250 waiting, 0 in work, 0 failed, 0 broken" {
		t.Error(got)
	}
}

// What is no envelope is set aside, and what is behind it goes on.
func TestListSetsAsideWhatIsNoJob(t *testing.T) {
	w := newListed(t, hworker())
	bad := []string{"", "garbage", `{"a":1}`, `["one"]`, `["a",1,2]`, `[1,{}]`, `[null,{}]`, "\xff\xfe", `["x",{}`, `false`, `["\ud800",{}] x`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000)}
	w.push(bad...)
	w.push(mail(1))
	if jobs := w.take(50); jids(jobs) != "id-1" {
		t.Errorf("took %+v", jobs)
	}
	broken := w.redis.HGetAll(t.Context(), "hworker-broken-mail").Val()
	for _, entry := range bad {
		if _, err := time.Parse(`"`+time.RFC3339Nano+`"`, broken[entry]); err != nil {
			t.Errorf("%q is not among the broken, or not with its time: %q", entry, broken[entry])
		}
	}
	if got := w.counts(); got != fmt.Sprintf("0 waiting, 1 in work, 0 failed, %d broken", len(bad)) {
		t.Error(got)
	}
}

// Entries of plain lists are jobs whatever they are.
func TestPlainListTakesAnything(t *testing.T) {
	l := hworker()
	l.Name = "out box:1"
	w := newListed(t, l)
	for entry, data := range map[string]string{
		`{"a": [1,  2]}`: `{"a": [1,  2]}`, "7": "7", "false": "false", "hello <b>": `"hello <b>"`, "": `""`, "\xff\x00": `{"base64":"/wA="}`, `["id",1]`: `["id",1]`,
	} {
		w.push(entry)
		jobs := w.take(2)
		if len(jobs) != 1 || string(jobs[0].Data) != data || jobs[0].Klass != l.Name || len(jobs[0].JID) != 40 {
			t.Errorf("of %q came %+v", entry, jobs)
			continue
		}
		w.settle(jobs[0], queue.Settlement{Action: queue.Complete})
	}
	if keys := w.redis.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("left are the keys %q", keys)
	}
}

// An entry that is there twice, byte for byte, is worked once at a time; of two with one id both are worked.
func TestListWorksEqualEntriesOneAfterTheOther(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(1), `["id-1",{"to":2}]`, mail(1))
	jobs := w.take(10)
	stop(t, len(jobs) != 2 || jobs[0].JID != "id-1" || len(jobs[1].JID) != 40 || string(jobs[1].Data) != `{"to":2}`, "took %+v", jobs)
	if more := w.exchange(nil, 10); len(more.Jobs) != 0 || more.More {
		t.Errorf("then took %+v", more)
	}
	runs := 0
	for job := jobs[0]; ; runs++ {
		reply := w.exchange([]queue.Settlement{{JID: job.JID, Popped: job.Popped, Action: queue.Complete}}, 10)
		if len(reply.Jobs) == 0 {
			break
		}
		job = reply.Jobs[0]
	}
	never(t, runs != 2, "the equal entries ran %d times more, want 2", runs)
}

// An entry that its holder does not give a sign of comes back to the front after the timeout, by one of
// many monitors; its late verdict changes nothing.
func TestListMonitorsPutBackOnce(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2), mail(3))
	jobs := w.take(2)
	w.age(40 * time.Second)
	if n, err := w.c.MonitorList(t.Context(), w.list); n != 0 || err != nil {
		t.Errorf("put back %d early (%v)", n, err)
	}
	w.age(21 * time.Second)
	var all sync.WaitGroup
	moved := make([]int, 3)
	for i := range moved {
		all.Go(func() {
			var err error
			if moved[i], err = w.c.MonitorList(context.WithoutCancel(t.Context()), w.list); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	never(t, moved[0]+moved[1]+moved[2] != 2, "three monitors put back %v", moved)
	if lies := w.lies(); len(lies) != 3 || lies[2] != mail(3) {
		t.Errorf("in the list are %q", lies)
	}
	if r := w.settle(jobs[0], queue.Settlement{Action: queue.Complete}); !errors.Is(r.Err, queue.ErrLockLost) {
		t.Errorf("a late verdict is %+v", r)
	}
	if got := w.counts(); got != "3 waiting, 0 in work, 0 failed, 0 broken" {
		t.Error(got)
	}
}

// Signs keep entries in work for as long as it takes; they tell of one that is lost.
func TestListRenewsWhatIsInWork(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2))
	jobs := w.take(2)
	items := []queue.RenewItem{{JID: jobs[0].JID, Popped: jobs[0].Popped, Checkpoint: []byte(`{"page":2}`)}, {JID: jobs[1].JID, Popped: jobs[1].Popped}}
	w.age(40 * time.Second)
	w.redis.HSet(t.Context(), "hworker-progress-mail", mail(2), `"2026-07-01T12:00:00.123456789012Z"`) // another has it
	before := w.c.Now()
	renewed, err := w.s.Renew(t.Context(), items)
	if err != nil || renewed[0].Err != nil || renewed[0].Expires < before+59 || !errors.Is(renewed[1].Err, queue.ErrLockLost) {
		t.Fatalf("renewed %+v (%v)", renewed, err)
	}
	w.redis.HDel(t.Context(), "hworker-progress-mail", mail(2))
	w.age(21 * time.Second)
	if n, _ := w.c.MonitorList(t.Context(), w.list); n != 0 {
		t.Error("a monitor put back what was renewed")
	}
	if held, err := w.s.Held(t.Context(), nil); err != nil || jids(held) != "id-1" || held[0].Popped != jobs[0].Popped {
		t.Errorf("held are %+v (%v)", held, err)
	}
	heir := w.c.ListSession("w", w.list) // a successor
	t.Cleanup(func() { heir.Close() })
	held, err := heir.Held(t.Context(), nil)
	if err != nil || len(held) != 1 || string(held[0].Checkpoint) != `{"page":2}` || string(held[0].Data) != `{"to":1}` {
		t.Errorf("a successor finds %+v (%v)", held, err)
	}
}

// Without heartbeat an entry is worked again beside the first, and whoever ends it ends it.
func TestListWithoutHeartbeatIsHworkers(t *testing.T) {
	l := hworker()
	l.Heartbeat = false
	w := newListed(t, l)
	w.push(mail(1))
	first := w.take(1)[0]
	if r, err := w.s.Renew(t.Context(), []queue.RenewItem{{JID: first.JID, Popped: first.Popped}}); err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
	w.age(61 * time.Second)
	if n, _ := w.c.MonitorList(t.Context(), l); n != 1 {
		t.Fatal("it was not put back")
	}
	second := w.take(1)[0]
	never(t, second.JID == first.JID || string(second.Data) != string(first.Data), "the second is %+v", second)
	if r := w.settle(first, queue.Settlement{Action: queue.Complete}); r.Err != nil {
		t.Errorf("the first ends as %+v", r)
	}
	if r := w.settle(second, queue.Settlement{Action: queue.Complete}); !errors.Is(r.Err, queue.ErrLockLost) {
		t.Errorf("the second ends as %+v", r)
	}
}

// A delayed retry waits among what is in work, and comes to the back when it is due, by whomever.
func TestListDelaysARetry(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1))
	began := w.c.Now()
	r := w.settle(w.take(1)[0], queue.Settlement{Action: queue.Retry, Delay: 2 * time.Minute})
	stop(t, r.Err != nil || r.State != "scheduled", "settled as %+v", r)
	if reply := w.exchange(nil, 5); len(reply.Jobs) != 0 || reply.NextDue < began+119 || reply.NextDue > w.c.Now()+121 {
		t.Errorf("took %+v", reply)
	}
	w.push(mail(2))
	w.age(100 * time.Second)
	if n, err := w.c.MonitorList(t.Context(), w.list); n != 0 || err != nil {
		t.Errorf("a monitor put back %d early (%v)", n, err)
	}
	w.age(21 * time.Second)
	if n, err := w.c.MonitorList(t.Context(), w.list); n != 1 || err != nil {
		t.Errorf("a monitor put back %d (%v)", n, err)
	}
	if got := fmt.Sprint(w.lies()); got != fmt.Sprint([]string{mail(2), mail(1)}) {
		t.Errorf("in the list are %s", got)
	}
}

// The session that delayed an entry puts it back in time.
func TestListSessionPutsBackWhatItDelayed(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1))
	w.settle(w.take(1)[0], queue.Settlement{Action: queue.Retry, Delay: time.Millisecond})
	for len(w.take(1)) == 0 {
		time.Sleep(time.Millisecond) // the server's clock goes on
	}
	l := hworker()
	l.Monitor = false
	w.list = l
	s := w.session("v")
	w.push(mail(2))
	reply := must(s.Exchange(t.Context(), nil, queue.Take{Count: 1}))(t)
	job := reply.Jobs[0]
	must(s.Exchange(t.Context(), []queue.Settlement{{JID: job.JID, Popped: job.Popped, Action: queue.Retry, Delay: time.Hour}}, queue.Take{}))(t)
	if err := s.Deregister(t.Context()); err != nil || fmt.Sprint(w.lies()) != fmt.Sprint([]string{mail(2)}) {
		t.Errorf("where nobody monitors, a session that leaves leaves %q in the list (%v)", w.lies(), err)
	}
}

// What foreign monitors and workers leave is understood: any digits of a second, a field false, a time that is none.
func TestListMonitorReadsForeignTimes(t *testing.T) {
	w := newListed(t, hworker())
	ctx, key := t.Context(), "hworker-progress-mail"
	now := time.Now().UTC()
	for i, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z", "2006-01-02T15:04:05.000000000Z", "2006-01-02T15:04:05.000000000000Z"} {
		w.redis.HSet(ctx, key, mail(i), `"`+strings.ReplaceAll(now.Add(-61*time.Second).Format(layout[:min(len(layout), 29)]), "Z", "")+zeros(layout)+`Z"`)
		w.redis.HSet(ctx, key, mail(100+i), `"`+strings.ReplaceAll(now.Add(-30*time.Second).Format(layout[:min(len(layout), 29)]), "Z", "")+zeros(layout)+`Z"`)
	}
	w.redis.HSet(ctx, key, "false", `"2015-07-25T12:34:56.789Z"`)
	w.redis.HSet(ctx, key, mail(200), "yesterday")
	w.redis.HSet(ctx, key, mail(201), `"9999-01-01T00:00:00Z"`)
	if n, err := w.c.MonitorList(ctx, w.list); n != 5 || err != nil {
		t.Errorf("put back %d (%v)", n, err)
	}
	left := w.redis.HGetAll(ctx, key).Val()
	never(t, len(left) != 7 || left["false"] != "" || len(left[mail(200)]) != 35 || len(left[mail(201)]) != 35, "left are %q", left)
}

// zeros are the digits that Go does not write.
func zeros(layout string) string { return strings.Repeat("0", max(0, len(layout)-30)) }

// A call whose reply was lost is resolved by asking: what it settled is settled once, what it took is found.
func TestListCallInDoubtIsResolved(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2), mail(3))
	jobs := w.take(2)
	lost := w.session("other")
	w.s = lost
	_ = w.take(1) // of whom nobody of ours may hear
	heir := w.session("other")
	held, err := heir.Held(t.Context(), nil)
	never(t, err != nil || jids(held) != "id-3", "held are %+v (%v)", held, err)
	w.redis.HDel(t.Context(), "hworker-progress-mail", mail(1))
	s := w.c.ListSession("w", w.list)
	t.Cleanup(func() { s.Close() })
	must(s.Held(t.Context(), nil))(t)
	resolutions, err := s.Resolve(t.Context(), []queue.Settlement{{JID: jobs[0].JID}, {JID: jobs[1].JID}})
	never(t, err != nil || fmt.Sprint(resolutions) != "[took not-run]", "resolved as %v (%v)", resolutions, err)
}

// Await returns as soon as something is there, and moves nothing.
func TestListAwaitWakesAll(t *testing.T) {
	w := listedOn(t, redistest.Start(t), hworker())
	others := []*queue.ListSession{w.s, w.session("a"), w.session("b")}
	woken := make(chan error, len(others))
	for _, s := range others {
		go func() { woken <- s.Await(context.WithoutCancel(t.Context())) }() // reports below
	}
	for w.redis.Info(t.Context(), "clients").Val(); !strings.Contains(w.redis.Info(t.Context(), "clients").Val(), "blocked_clients:3"); {
		time.Sleep(time.Millisecond) // Redis tells nobody who waits
	}
	w.push(mail(1), mail(2), mail(3))
	for range others {
		if err := <-woken; err != nil {
			t.Error(err)
		}
	}
	if got := fmt.Sprint(w.lies()); got != fmt.Sprint([]string{mail(1), mail(2), mail(3)}) {
		t.Errorf("in the list are %s", got)
	}
}

// No more than 32 lists are waited for over connections of their own; what is pushed to the others is found by looks, and one
// that is not waited for any more leaves its place to another.
func TestNoMoreThan32ListsAreWaitedFor(t *testing.T) {
	w := listedOn(t, redistest.Start(t), hworker())
	const most, more = 32, 3
	name := func(n int) string { return fmt.Sprint("outbox-", n) }
	waiters, found := make([]*queue.ListWaiter, most+more), make(chan int, most+more)
	await := func(n int) {
		go func() { // reports below
			if err := waiters[n].Await(context.WithoutCancel(t.Context())); err == nil {
				found <- n
			}
		}()
	}
	blocked := func(want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !strings.Contains(w.redis.Info(t.Context(), "clients").Val(), fmt.Sprintf("blocked_clients:%d\r", want)); {
			if time.Now().After(end) {
				t.Fatalf("it is not so that %d wait: %s", want, w.redis.Info(t.Context(), "clients").Val())
			}
			time.Sleep(time.Millisecond) // Redis tells nobody who waits
		}
	}
	for n := range waiters {
		waiters[n] = w.c.ListWaiter(name(n))
		defer waiters[n].Close()
		if n < most {
			await(n)
		}
	}
	blocked(most)
	for n := range more {
		await(most + n)
	}
	w.redis.LPush(t.Context(), name(most), "x") // is looked for
	if n := <-found; n != most {
		t.Fatalf("an entry of list %d was found in list %d", most, n)
	}
	blocked(most)
	for n := range 2 {
		waiters[n].Close()
	}
	blocked(most) // the two that only looked have the places
	for n := 2; n < most+more; n++ {
		w.redis.LPush(t.Context(), name(n), "x")
	}
	for range most + more - 3 {
		<-found
	}
}

// Keys that are something else are told of, and cost nothing.
func TestListTellsOfKeysThatAreNone(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1))
	job := w.take(1)[0]
	w.redis.Set(t.Context(), "hworker-jobs-mail", "x", 0)
	reply := w.exchange([]queue.Settlement{{JID: job.JID, Popped: job.Popped, Action: queue.Retry}}, 5)
	never(t, reply.Results[0].Err == nil || len(reply.Broken) != 1 || !strings.Contains(reply.Broken[0].Reason, "WRONGTYPE"), "answered %+v", reply)
	w.redis.Del(t.Context(), "hworker-jobs-mail")
	if r := w.settle(job, queue.Settlement{Action: queue.Retry}); r.Err != nil || fmt.Sprint(w.lies()) != fmt.Sprint([]string{mail(1)}) {
		t.Errorf("when the key is free again: %+v, %q", r, w.lies())
	}
}

// On the embedded server an entry goes where it goes on Redis: in turn, to the back, to the front, to the failed, to the broken, put
// back by a monitor, found after a lost reply; and who waits for one is woken.
func TestListsOnEachServer(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		l := hworker()
		w := &listed{t: t, redis: c.Redis(), c: c, list: l}
		w.s = w.session("w")
		ctx := context.WithoutCancel(t.Context())
		woken := make(chan error, 1)
		go func() { woken <- w.s.Await(ctx) }() // reports below
		w.push(mail(1), mail(2), "garbage \xff", mail(2), mail(3))
		ok(t, <-woken)
		jobs := w.take(9)
		equal(t, "taken", jids(jobs), "id-1 id-2 id-3")
		w.settle(jobs[0], queue.Settlement{Action: queue.Retry, Checkpoint: []byte(`{"a":[]}`)})
		w.settle(jobs[1], queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3})
		w.settle(jobs[2], queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
		equal(t, "the list", fmt.Sprint(w.lies()), fmt.Sprint([]string{mail(2), mail(2), mail(1)}))
		equal(t, "counts", w.counts(), "3 waiting, 0 in work, 1 failed, 1 broken")
		jobs = w.take(9)
		equal(t, "then", jids(jobs), "id-2 id-1")
		equal(t, "a checkpoint", string(jobs[1].Checkpoint), `{"a":[]}`)
		renewed, err := w.s.Renew(ctx, []queue.RenewItem{{JID: "id-2", Popped: jobs[0].Popped}})
		never(t, err != nil || renewed[0].Err != nil, "renewed are %+v (%v)", renewed, err)
		equal(t, "held", jids(must(w.session("w").Held(ctx, nil))(t)), "id-1 id-2")
		w.age(2 * time.Minute)
		equal(t, "put back", must(c.MonitorList(ctx, l))(t), 2)
		equal(t, "tried again", must(c.RetryListFailed(ctx, l.Name))(t), 1)
		equal(t, "and what was broken", must(c.RetryListBroken(ctx, l.Name))(t), 1)
		equal(t, "counts", w.counts(), "5 waiting, 0 in work, 0 failed, 0 broken")
		next := must(c.NextOfList(ctx, l.Name, 9))(t)
		done := must(c.TakeIn(ctx, l.Name, "q", 0, intakes(next)))(t)
		equal(t, "made jobs", fmt.Sprint(done.Moved, done.Jobs, done.Broken, done.Refused), "5 4 1 <nil>")
		equal(t, "known", fmt.Sprint(must(c.KnownLists(ctx))(t)), "[hworker:mail]")
		ok(t, c.DestroyList(ctx, l.Name))
	})
}

// utcTimes is how an hworker reads and writes times.
type utcTimes struct {
	Reads   string             `json:"reads"`   // what it takes for a time, whole
	Writes  map[string]float64 `json:"writes"`  // texts as its versions write them, and which time each is, in seconds since the epoch
	Refuses []string           `json:"refuses"` // what ends its monitor
}

// Every time that we write where an hworker reads is one that it can read, and is when it was; what it writes we read. One that it
// cannot read would end its monitor.
func TestHworkersReadOurTimes(t *testing.T) {
	text := must(os.ReadFile("testdata/utctime.json"))(t)
	var its utcTimes
	ok(t, json.Unmarshal(text, &its))
	form := regexp.MustCompile(its.Reads)
	for _, odd := range its.Refuses {
		never(t, form.MatchString(odd), "%s is no time", odd)
	}
	w := newListed(t, hworker())
	ctx := t.Context()
	for stamp, at := range its.Writes {
		never(t, !form.MatchString(stamp), "%s is a time", stamp)
		entry := queue.Envelope(stamp, []byte("1"))
		w.redis.HSet(ctx, "hworker-progress-mail", entry, stamp)
		found, err := w.c.ListInWork(ctx, "hworker:mail", 0, 9)
		if err != nil || len(found) != 1 || found[0].Since > at || found[0].Since <= at-0.001 {
			t.Errorf("%s is read as %+v (%v), want %f", stamp, found, err, at)
		}
		w.redis.HDel(ctx, "hworker-progress-mail", entry)
	}
	checked := 0
	began := time.Now()
	check := func(key string, from, to float64) { // all times in a hash are within from seconds after it began, and to seconds from now
		t.Helper()
		for entry, stamp := range w.redis.HGetAll(ctx, key).Val() {
			var text string
			if err := json.Unmarshal([]byte(stamp), &text); err != nil || !form.MatchString(stamp) {
				t.Errorf("%s has the time %s (%v)", entry, stamp, err)
				continue
			}
			at, err := time.Parse(time.RFC3339Nano, text)
			if ago := time.Until(at).Seconds(); err != nil || at.Sub(began).Seconds() < from || ago > to {
				t.Errorf("%s has the time %s, %.3f s from now (%v)", entry, stamp, ago, err)
			}
			checked++
		}
	}
	for n := range 50 { // each name of a worker makes other digits
		began = time.Now()
		w.s = w.session(queue.NewJID())
		w.push(mail(n))
		job := w.take(1)[0]
		check("hworker-progress-mail", -2, 1)
		must(w.s.Renew(ctx, []queue.RenewItem{{JID: job.JID, Popped: job.Popped}}))(t)
		check("hworker-progress-mail", -2, 1)
		w.settle(job, queue.Settlement{Action: queue.Complete})
	}
	began = time.Now()
	w.push(mail(100), "garbage")
	w.settle(w.take(2)[0], queue.Settlement{Action: queue.Retry, Delay: 3 * time.Minute})
	check("hworker-progress-mail", 118, 121) // so it is abandoned in three minutes
	check("hworker-broken-mail", -2, 1)
	w.redis.Del(ctx, "hworker-progress-mail")
	w.redis.HSet(ctx, "hworker-progress-mail", mail(1), "no time")
	must(w.c.MonitorList(ctx, w.list))(t)
	check("hworker-progress-mail", -2, 1)
	w.redis.LPush(ctx, "hworker-jobs-mail", "odd")
	must(w.c.TakeIn(ctx, "hworker:mail", "q", 9, []queue.Intake{{Entry: "odd", Trouble: "it is odd"}}))(t)
	check("hworker-broken-mail", -2, 1)
	never(t, checked != 50*2+1+1+1+2, "%d times were checked", checked)
}
