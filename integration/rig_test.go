package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// Locks in the tests are short, so that faults longer than a lock take little time.
const (
	lock  = 2 * time.Second
	grace = time.Second
)

// rig is what a row runs on: a Redis, a ledger, supervisors, and the jobs that were put.
type rig struct {
	redis   *redistest.Server
	proxy   *faultproxy.Proxy // between supervisors and Redis; nil unless asked for
	url     string            // what supervisors are told
	db      *redis.Client     // the Redis itself, past any proxy
	client  *queue.Client     // for putting jobs, past any proxy too
	ledger  *ledger
	binary  string // of supervisors that are started from now on
	dir     string // for configurations, state and job directories
	port    string // of Redis, if it listens on one
	data    string // of Redis, if that has a file system of its own
	mark    string // NAME=value in the environment of every process of the rig
	lock    time.Duration
	random  *rand.Rand
	numbers numbers

	jids        []string          // of all jobs whose put was acknowledged
	verdicts    map[string]string // what jobs of keyed end with, by jid, where that is no ack
	speechless  bool              // what supervisors tell of their runs is not all there
	logFile     string            // where supervisors that are started from now on write their log, unheard; "" for a pipe to us
	supervisors []*supervisor
	strangers   []string        // names of other programs that work jobs, and write no log
	killed      map[int]float64 // when supervisors were killed, by pid
}

// rigOptions are what rows differ in; the zero value is what most want.
type rigOptions struct {
	redis []string      // more arguments of redis-server
	proxy bool          // supervisors go through rig.proxy
	lock  time.Duration // of each job; default: lock
	alone bool          // no other row runs beside it, for it compares throughputs

	root     bool   // it takes several users
	password string // of Redis
	tcp      bool   // Redis listens at rig.port, too
	disk     string // size of a file system of its own for Redis' data; needs the right to mount
}

func newRig(t *testing.T, seed uint64, o rigOptions) *rig {
	t.Helper()
	program := oarlock(t)
	dir := got(os.MkdirTemp("", "oar"))(t) // short: it holds sockets
	// What Redis has told of it knows after a kill: it writes its log before each answer. To a disk that is busy it would put that
	// off for up to two seconds.
	args := slices.Concat(redistest.AOF, []string{"--appendfsync", "always"}, redistest.InMemory(t), o.redis)
	port := ""
	if o.tcp {
		port = redistest.Port(t)
		args = append(args, "--port", port)
	}
	if o.password != "" {
		args = append(args, "--requirepass", o.password)
	}
	data := ""
	if o.disk != "" {
		data = got(tmpfs(t, o.disk))(t)
		// It would end itself when the disk is full if it had promised to write before it answers.
		args = append(args, "--dir", data, "--appendfsync", "everysec")
	}
	r := &rig{
		redis:  redistest.Start(t, args...),
		data:   data,
		port:   port,
		ledger: newLedger(t),
		binary: program,
		dir:    dir,
		mark:   "RIG_UNDER_TEST=" + filepath.Base(dir),
		random: rand.New(rand.NewPCG(seed, 0)),
		killed: make(map[int]float64),

		verdicts: make(map[string]string),
	}
	r.url, r.db = r.redis.URL, r.redis.Client(t)
	if o.password != "" {
		r.url = strings.Replace(r.url, "unix://", "unix://:"+o.password+"@", 1)
		r.db = redis.NewClient(&redis.Options{Network: "unix", Addr: r.redis.Addr, Password: o.password, MaxRetries: -1})
		t.Cleanup(func() { r.db.Close() })
	}
	direct := r.url // past the proxy
	if o.proxy {
		r.proxy = faultproxy.Start(t, "unix", r.redis.Addr)
		r.url = r.proxy.URL
	}
	r.client = r.open(t, direct)
	if r.lock = o.lock; r.lock == 0 {
		r.lock = lock
	}
	config := []any{
		"heartbeat", r.lock.Seconds(), "grace-period", grace.Seconds(),
		"jobs-history-count", 1_000_000, // what is done is looked at when all is done
	}
	must(t, r.db.HSet(t.Context(), "ql:config", config...).Err())
	t.Cleanup(func() {
		for _, s := range r.supervisors {
			s.end()
		}
		r.endFamily(t)
		os.RemoveAll(dir)
		if t.Failed() {
			for _, s := range r.supervisors {
				t.Logf("the log of supervisor %s:\n%s", s.name, s.tail())
			}
		}
	})
	return r
}

// open returns a client, closed when the test ends.
func (r *rig) open(t testing.TB, url string) *queue.Client {
	t.Helper()
	client := got(queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: 30 * time.Second}))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// endFamily kills whatever of the rig's processes is left, after a test that failed.
func (r *rig) endFamily(t testing.TB) {
	for _, p := range marked(r.mark) {
		t.Logf("left over and killed now: %v", p)
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// work is the data of a job for the fixtures worker.py and worker.sh.
type work struct {
	MS   int            `json:"ms"`
	Beat int            `json:"beat,omitempty"`
	Say  map[string]any `json:"say,omitempty"`
	End  any            `json:"end,omitempty"`
	Once bool           `json:"once,omitempty"`

	Grow   int  `json:"grow,omitempty"`
	Orphan bool `json:"orphan,omitempty"`
	Flood  int  `json:"flood,omitempty"`
}

// put puts n equal jobs into the queue "work" and returns their jids.
func (r *rig) put(t testing.TB, n int, w work) []string {
	t.Helper()
	puts := make([]queue.Put, n)
	for i := range puts {
		puts[i] = r.describe(t, w)
	}
	return r.putAll(t, puts)
}

// putOne puts one job, changed first, and returns its jid.
func (r *rig) putOne(t testing.TB, w work, change func(*queue.Put)) string {
	t.Helper()
	p := r.describe(t, w)
	change(&p)
	return r.putAll(t, []queue.Put{p})[0]
}

// retries is a change that allows a job n retries.
func retries(n int) func(*queue.Put) { return func(p *queue.Put) { p.Retries = &n } }

// first is a change that puts a job ahead of all others.
func first(p *queue.Put) {
	high := 10.0
	p.Priority = &high
}

func (r *rig) describe(t testing.TB, w work) queue.Put {
	t.Helper()
	data := got(json.Marshal(w))(t)
	return queue.Put{Queue: "work", Klass: "Work", Data: data}
}

func (r *rig) putAll(t testing.TB, puts []queue.Put) []string {
	t.Helper()
	results := got(r.client.PutAll(context.Background(), puts))(t)
	jids := make([]string, len(puts))
	for i, result := range results {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		jids[i] = result.JID
	}
	r.jids = append(r.jids, jids...)
	return jids
}

// pool is what rows differ in about the only pool of a supervisor, which works the
// queue "work".
type pool struct {
	mode     string   // default reuse
	worker   string   // a fixture; default worker.py
	command  []string // instead of worker
	children int      // default 4
	grace    string   // how long a child has to stop; default 1s
	more     string   // further lines of the table
	top      string   // lines of [supervisor]
}

// config returns the configuration of one supervisor.
func (r *rig) config(t testing.TB, name string, p pool) string {
	t.Helper()
	p.mode, p.worker = cmp.Or(p.mode, "reuse"), cmp.Or(p.worker, "worker.py")
	p.children, p.grace = cmp.Or(p.children, 4), cmp.Or(p.grace, "1s")
	if p.command == nil {
		p.command = command(t, p.worker)
	}
	argv := got(json.Marshal(p.command))(t) // a JSON list of plain strings is a TOML one
	return r.head(name, p.top) + fmt.Sprintf(`
[pools.work]
queues = ["work"]
mode = %q
command = %s
children = %d
kill_grace = %q
%s
[pools.work.retry]
delay = "1ms"
[pools.work.sandbox]
env = { LEDGER = %q, SUPERVISOR_PID = %q }
`, p.mode, argv, p.children, p.grace, p.more, r.ledger.path, r.pidFile(name))
}

// head is the part of a supervisor's configuration before its pools.
func (r *rig) head(name, top string) string {
	return fmt.Sprintf(`
[redis]
url = %q
[supervisor]
state_dir = %q
poll_interval = "200ms"
%s
[log]
format = "json"
`, r.url, r.stateDir(name), top)
}

// command returns the argument list that runs a fixture.
func command(t testing.TB, worker string) []string {
	t.Helper()
	if !strings.HasSuffix(worker, ".py") {
		return []string{"/bin/sh", fixture(t, worker)}
	}
	interpreter := got(python())(t)
	return []string{interpreter, "-I", "-S", fixture(t, worker)}
}

func (r *rig) stateDir(name string) string { return filepath.Join(r.dir, name) }
func (r *rig) pidFile(name string) string  { return filepath.Join(r.dir, name+".pid") }

// settled waits until no job of the rig is on its way any more, and returns them all. It
// fails the test when none has been done or failed for as long as patience lasts.
func (r *rig) settled(t testing.TB) []job {
	t.Helper()
	for settled := -1; settled < len(r.jids); {
		await(t, func() error {
			n, err := r.countSettled()
			if err == nil && n <= settled {
				err = fmt.Errorf("still %d of %d jobs are done or failed", n, len(r.jids))
			}
			settled = max(settled, n)
			return err
		})
	}
	return readJobs(t, r.db, r.jids)
}

// awaitState waits until a job is in a state.
func (r *rig) awaitState(t testing.TB, jid, want string) {
	t.Helper()
	await(t, func() error {
		if is := r.db.HGet(t.Context(), "ql:j:"+jid, "state").Val(); is != want {
			return fmt.Errorf("%s is %s, want %s", jid, is, want)
		}
		return nil
	})
}

// drainAll drains supervisors together and expects that nothing is left.
func (r *rig) drainAll(t testing.TB, supervisors ...*supervisor) {
	t.Helper()
	for _, s := range supervisors {
		s.signal(t, syscall.SIGTERM)
	}
	for _, s := range supervisors {
		if code := s.exit(t); code != 0 {
			t.Errorf("supervisor %s ended with exit code %d", s.name, code)
		}
	}
	if left := marked(r.mark); len(left) > 0 {
		t.Errorf("I6: left are %v", left)
	}
}

// finish waits until all jobs of the rig are settled. It fails the test unless they are complete and paid no retry, and the invariants hold.
func (r *rig) finish(t testing.TB, may allowed) {
	t.Helper()
	r.doneFree(t, r.settled(t))
	r.check(t, may)
}

// doneFree fails the test unless all jobs are complete and paid no retry.
func (r *rig) doneFree(t testing.TB, jobs []job) {
	t.Helper()
	allDone(t, jobs)
	r.uncounted(t, jobs)
}

// countSettled counts the jobs that Redis lists as complete or failed.
func (r *rig) countSettled() (int, error) {
	ctx := context.Background()
	settled, err := r.db.ZCard(ctx, "ql:completed").Result()
	if err != nil {
		return 0, err
	}
	groups, err := r.db.SMembers(ctx, "ql:failures").Result()
	if err != nil {
		return 0, err
	}
	for _, group := range groups {
		failed, err := r.db.LLen(ctx, "ql:f:"+group).Result()
		if err != nil {
			return 0, err
		}
		settled += failed
	}
	return int(settled), nil
}

// unsettled is how many jobs of the rig are still on their way. While Redis is away
// it is all of them.
func (r *rig) unsettled(t testing.TB) int {
	t.Helper()
	settled, err := r.countSettled()
	if err != nil {
		return len(r.jids)
	}
	return len(r.jids) - settled
}

// check compares the ledger with Redis and notes how many jobs began twice.
func (r *rig) check(t testing.TB, may allowed) []job {
	t.Helper()
	jobs, entries := readJobs(t, r.db, r.jids), r.ledger.all(t)
	may.starved = r.starved(t)
	if n := len(may.starved); n > 0 {
		r.note("starved", n)
	}
	for i, breach := range breaches(jobs, entries, may) {
		if i == 10 {
			t.Error("… and more")
			break
		}
		t.Error(breach)
	}
	if !r.speechless {
		within(t, 2*time.Second, func() error { return r.checkLog(jobs, entries) })
	}
	r.note("jobs", len(jobs), "begun_twice", begunTwice(entries))
	return jobs
}

// log is what all supervisors of the rig have said.
func (r *rig) log() string {
	var log strings.Builder
	for _, s := range r.supervisors {
		log.WriteString(s.text() + "\n")
	}
	return log.String()
}

// about is what supervisors have said of a job.
func (r *rig) about(jid string) string {
	var about []string
	for _, s := range r.supervisors {
		about = append(about, s.name+": "+s.about(`"`+jid+`"`))
	}
	return strings.Join(about, "\n")
}

// byStranger reports whether the run was of another program, which writes no log.
func (r *rig) byStranger(run ledgerRun) bool {
	return slices.ContainsFunc(r.strangers, func(name string) bool { return strings.HasPrefix(run.run, name+"-") })
}

// starved are the runs whose supervisor wrote down that their lease had ended, while more
// wanted a core than there are for as long as a lock lasts: with locks of two seconds, who
// waits a second for a core loses them. Such a run is stopped in time, which I5 checks, and its job runs again.
func (r *rig) starved(t testing.TB) map[string]string {
	t.Helper()
	return r.robbed(t, `"lease":"ended"`, r.lock, 0.9)
}

// robbed are the runs, and their jobs, of which a record with these words tells that so much time was over for them, of which the machine had given them less than
// a share.
func (r *rig) robbed(t testing.TB, words string, of time.Duration, share float64) map[string]string {
	t.Helper()
	robbed := make(map[string]string) // run to jid
	for line := range strings.SplitSeq(r.log(), "\n") {
		if !strings.Contains(line, words) {
			continue
		}
		var told struct {
			Time     time.Time
			JID, Run string
		}
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		at := now() - time.Since(told.Time).Seconds()
		if fairly(at-of.Seconds(), at) < share*of.Seconds() {
			robbed[told.Run] = told.JID
		}
	}
	return robbed
}

// exact is for a pool of which a kill repeats no more than one job per child: with jobs kept ready, it repeats more of those that take
// less than 2 ms (docs/performance.md).
const exact = "prefetch = 0"

// checkLog is invariant I10: each run that was not acknowledged has a record with its id
// and why it ended, unless its supervisor was killed before it could write one. Those that were acknowledged may have none.
func (r *rig) checkLog(jobs []job, entries []entry) error {
	told, done, dropped := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for line := range strings.SplitSeq(r.log(), "\n") {
		if run := runInLog.FindStringSubmatch(line); run != nil && causeInLog.MatchString(line) {
			told[run[1]] = true
			done[run[1]] = done[run[1]] || strings.Contains(line, `"outcome":"done"`)
			dropped[run[1]] = dropped[run[1]] || strings.Contains(line, `"err":"`)
		}
	}
	byJob := runs(entries)
	for _, j := range jobs {
		rs := byJob[j.jid]
		advanced := j.state == "waiting" && j.queue != "work" // acknowledged, too
		if len(rs) > 0 && j.state == "running" {
			rs = rs[:len(rs)-1]
		}
		// The log tells of a run before Redis knows how it ended: of a supervisor that was killed in between, another run was acknowledged.
		acknowledged := (j.state == "complete" || advanced) && !slices.ContainsFunc(rs, func(run ledgerRun) bool {
			return done[run.run] && !dropped[run.run] && !r.diedWith(j, run)
		})
		for _, run := range slices.Backward(rs) {
			switch {
			case told[run.run] || r.diedWith(j, run) || r.byStranger(run):
			case acknowledged && run.ended:
				acknowledged = false // this one
			default:
				return fmt.Errorf("I10: no record tells how run %s of job %s ended; of the job are told\n%s\nand kept %v", run.run, j.jid, r.about(j.jid), j.history)
			}
		}
	}
	return nil
}

var (
	runInLog   = regexp.MustCompile(`"run":"([^"]+)"`)
	causeInLog = regexp.MustCompile(`"(?:kind|cause|err)":"`)
)

// diedWith reports whether the run may have been of a supervisor that was killed: one that
// had popped the job, and died after the run began.
func (r *rig) diedWith(j job, run ledgerRun) bool {
	return slices.ContainsFunc(j.history, func(e event) bool {
		if e.what != "popped" {
			return false
		}
		for pid, died := range r.killed {
			// A child that was just handed its job may write that it begins a moment before it is killed in its turn.
			if run.at <= died+1 && strings.Contains(e.worker, fmt.Sprintf("-%d-", pid)) {
				return true
			}
		}
		return false
	})
}

// uncounted fails the test if a job paid with a retry.
func (r *rig) uncounted(t testing.TB, jobs []job) {
	t.Helper()
	if payers := r.payers(t, jobs); len(payers) > 0 {
		t.Errorf("%d jobs paid a retry: %.10q", len(payers), payers)
	}
}

// payers are the jobs that paid with a retry.
func (r *rig) payers(t testing.TB, jobs []job) (jids []string) {
	t.Helper()
	for jid, retries := range r.paid(t, jobs) {
		if retries > 0 {
			jids = append(jids, jid)
		}
	}
	return jids
}

// paid is how many retries jobs have paid, now or when any of their runs began: completion gives
// a job all its retries back. A lock that a starved supervisor lost is paid for by the protocol,
// and does not count.
func (r *rig) paid(t testing.TB, jobs []job) map[string]int {
	t.Helper()
	paid := make(map[string]int)
	for _, j := range jobs {
		paid[j.jid] = j.retries - j.remaining
	}
	for _, e := range r.ledger.all(t) {
		paid[e.jid] = max(paid[e.jid], e.paid)
	}
	for _, jid := range r.starved(t) {
		paid[jid]--
	}
	return paid
}

// allDone fails the test unless every job is complete.
func allDone(t testing.TB, jobs []job) {
	t.Helper()
	if by := inState(jobs); by["complete"] != len(jobs) {
		t.Errorf("%d jobs end as %v, want all complete", len(jobs), by)
	}
}
