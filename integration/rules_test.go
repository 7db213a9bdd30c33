package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// ruledWorld is a Redis, a configuration with rules, and the program with that.
type ruledWorld struct {
	t      *testing.T
	db     *redis.Client
	client *queue.Client
	url    string
	dir    string
	config string
}

func newRuledWorld(t *testing.T) *ruledWorld {
	t.Helper()
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	w := &ruledWorld{t: t, db: server.Client(t), url: server.URL, dir: dir, config: filepath.Join(dir, "c.toml")}
	var err error
	if w.client, err = queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.client.Close() })
	w.db.HSet(t.Context(), "ql:oarlock:tended", "rules-since", 1) // nobody works it who knows no rules, so that nobody needs to be waited for
	return w
}

// write writes the configuration; with its Redis and state directory before what is given.
func (w *ruledWorld) write(text string) {
	w.t.Helper()
	text = fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\nname = \"web1\"\npoll_interval = \"200ms\"\n", w.url, filepath.Join(w.dir, "state")) + text
	must(w.t, os.WriteFile(w.config, []byte(text), 0o600))
}

// run starts a supervisor, which is stopped at the end of the test.
func (w *ruledWorld) run() {
	w.t.Helper()
	run := begin(w.t, w.config)
	w.t.Cleanup(func() { run.Process.Signal(syscall.SIGTERM); run.Wait() })
}

// do runs a command of the program and returns what it printed on stdout.
func (w *ruledWorld) do(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(oarlock(w.t), append(args, "-c", w.config)...)
	cmd.Stderr = w.t.Output()
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("oarlock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (w *ruledWorld) put(p queue.Put) string {
	w.t.Helper()
	jid := got(w.client.Put(w.t.Context(), p))(w.t)
	return jid
}

// field reads one of a job.
func (w *ruledWorld) field(jid, name string) string {
	return w.db.HGet(w.t.Context(), "ql:j:"+jid, name).Val()
}

// A supervisor that is the first to say something of a queue lets no job of it begin before that counts, though it has to
// wait until all others who work the key space can know of rules.
func TestNoJobBeginsBeforeTheRulesCount(t *testing.T) {
	w := newRuledWorld(t)
	must(t, w.db.Del(t.Context(), "ql:oarlock:needs").Err())
	day := time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3]
	w.write(fmt.Sprintf(`
[pools.work]
queues = ["work", "other"]
command = ["true"]
input = "none"
[queues.work]
windows = ["later"]
[windows.later]
open = ["%s 00:00-24:00"]
`, day))
	held, free := w.put(queue.Put{Queue: "work", Klass: "K"}), w.put(queue.Put{Queue: "other", Klass: "K"})
	w.run()
	until(t, "what no rule concerns is done", func() bool { return w.field(free, "state") == "complete" })
	until(t, "the window holds the other", func() bool { return w.field(held, "state") == "scheduled" })
	if history := w.field(held, "history"); strings.Contains(history, "popped") {
		t.Errorf("it began before: %s", history)
	}
}

// classes says something of three classes, and of their jobs what the pool says otherwise would take an hour or a day.
const classes = `
[pools.work]
queues = ["work"]
mode = "once"
children = 1
on_error = "retry"
command = ["sh", "-c", 'case $0 in Slow) exec sleep 100;; Flaky) exit 3;; Ask) echo "{\"@\":\"park\",\"run\":\"$OARLOCK_RUN\"}";; *) echo $0 >>%s;; esac']
args = ["{klass}"]
input = "none"
kill_grace = "100ms"
[pools.work.retry]
delay = "1h"
[klass.Vip]
priority = 10.0
[klass."Fla*"]
retries = 2
retry = { backoff = [0.05] }
[klass.Ask]
retries = 0
correlation = "/order"
on_live_correlation = "existing"
park_timeout = "300ms"
`

// What is said of a class counts for its jobs, and no other, from the put to the end, and a file that changes counts at once.
func TestClassesFromPutToEnd(t *testing.T) {
	w := newRuledWorld(t)
	text := fmt.Sprintf(classes, filepath.Join(w.dir, "order"))
	w.write(text)
	w.do("rules", "apply")
	priority := func(jid string) string { return w.field(jid, "priority") }
	if vip, other := w.put(queue.Put{Queue: "idle", Klass: "Vip"}), w.put(queue.Put{Queue: "idle", Klass: "Nobody"}); priority(vip) != "10" || priority(other) != "0" {
		t.Errorf("the priorities are %s and %s", priority(vip), priority(other))
	}
	flaky := w.put(queue.Put{Queue: "work", Klass: "Flaky"})
	ask := w.put(queue.Put{Queue: "work", Klass: "Ask", Data: []byte(`{"order":"17"}`)})
	if again := strings.TrimSpace(w.do("put", "work", `{"order":"17"}`, "-k", "Ask")); again != ask {
		t.Errorf("put again it is %s, not %s", again, ask)
	}
	w.run()
	until(t, "the attempts of one class are over", func() bool { return w.field(flaky, "state") == "failed" })
	until(t, "one waits for its answer in vain", func() bool { return w.field(ask, "state") == "failed" })
	var failure struct{ Group string }
	if err := json.Unmarshal([]byte(w.field(ask, "failure")), &failure); err != nil || failure.Group != "park-timeout" {
		t.Errorf("it failed by %+v, %v", failure, err)
	}
	w.write(text + "[klass.Slow]\ntimeout = \"300ms\"\nretries = 0\n")
	until(t, "the file counts", func() bool {
		return strings.Contains(w.db.HGet(t.Context(), "ql:oarlock:rules", "doc").Val(), "klass.Slow")
	})
	slow := w.put(queue.Put{Queue: "work", Klass: "Slow"})
	until(t, "its time is over", func() bool { return w.field(slow, "state") == "failed" })
	if err := json.Unmarshal([]byte(w.field(slow, "failure")), &failure); err != nil || failure.Group != "timeout" {
		t.Errorf("it failed by %+v, %v", failure, err)
	}
	for klass, want := range map[string]string{"Flaky": "counts klass.Fla*", "Slow": "timeout 300ms", "Ask": "correlation /order of the data", "Vip": "priority 10"} {
		if out := w.do("klass", "show", klass); !strings.Contains(out, want) {
			t.Errorf("klass show %s says %q, not %q", klass, out, want)
		}
	}
}

// example is a file of examples/limits, and one text in it that is another.
func example(t *testing.T, name, old, replacement string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../examples/limits", name))
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s says nothing of %q (%v)", name, old, err)
	}
	return strings.ReplaceAll(string(text), old, replacement)
}

// While the east floods the queue it has four of ten places and no more, and north and west, which come last, have theirs.
func TestTheExampleOfRegions(t *testing.T) {
	w := newRuledWorld(t)
	ledger := filepath.Join(w.dir, "ledger")
	w.write(example(t, "regions.toml", "cat >/dev/null; sleep 0.1", "d=$(cat); echo begin $d >>"+ledger+"; sleep 0.1; echo end $d >>"+ledger))
	w.do("rules", "apply")
	jobs := map[string]int{"east": 30, "north": 9, "west": 9}
	for _, region := range []string{"east", "north", "west"} {
		for range jobs[region] {
			w.put(queue.Put{Queue: "visits", Klass: "Visit", Data: fmt.Appendf(nil, `{"region":%q}`, region)})
		}
	}
	if out := w.do("rules", "explain", "--queue", "visits", "--data", `{"region":"east"}`); !regexp.MustCompile(`region=east +4 places`).MatchString(out) {
		t.Errorf("explained as %s", out)
	}
	w.run()
	until(t, "all are done", func() bool { return w.db.ZCard(t.Context(), "ql:completed").Val() == 48 })
	text := got(os.ReadFile(ledger))(t)
	at, most := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		var visit struct{ Region string }
		what, data, _ := strings.Cut(line, " ")
		if err := json.Unmarshal([]byte(data), &visit); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at[visit.Region] += map[string]int{"begin": 1, "end": -1}[what]
		most[visit.Region] = max(most[visit.Region], at[visit.Region])
	}
	if most["east"] > 4 || most["north"] > 3 || most["west"] > 3 || at["east"]+at["north"]+at["west"] != 0 {
		t.Errorf("at a time were at work %v, and are %v", most, at)
	}
}

// By day a report waits for the evening, and says so; in a window it runs.
func TestTheExampleOfNights(t *testing.T) {
	w := newRuledWorld(t)
	today := func(from time.Duration) string {
		now := time.Now().UTC()
		return now.Add(from).Format("15:04") + "-" + now.Add(from+time.Hour).Format("15:04")
	}
	write := func(from time.Duration) {
		text := example(t, "nightly.toml", `["Mon-Fri 22:00-06:00", "Sat,Sun 00:00-24:00"]`, fmt.Sprintf("[%q]", today(from)))
		w.write(strings.Replace(text, "Europe/Berlin", "UTC", 1))
	}
	write(3 * time.Hour) // from now on
	w.do("rules", "apply")
	w.run()
	late := w.put(queue.Put{Queue: "reports", Klass: "Report"})
	until(t, "it waits", func() bool { return w.field(late, "state") == "scheduled" })
	if why := w.do("job", "why", late); !strings.Contains(why, "indow night") {
		t.Errorf("why it does not run: %s", why)
	}
	if next := w.do("window", "next", "night"); !strings.Contains(next, "is shut; it opens") {
		t.Errorf("the window: %s", next)
	}
	write(-30 * time.Minute)
	until(t, "the window is another", func() bool { return strings.Contains(w.do("window", "next", "night"), "is open") })
	now := w.put(queue.Put{Queue: "reports", Klass: "Report"})
	until(t, "it has run", func() bool { return w.field(now, "state") == "complete" })
	until(t, "what waited for the window as it was is judged by what it is", func() bool { return w.field(late, "state") == "complete" })
}

// With on_close = "stop" a job that runs when its window shuts is stopped, at no cost, and held until the next opening.
func TestAWindowThatStopsWhatRuns(t *testing.T) {
	w := newRuledWorld(t)
	write := func(shuts time.Time) {
		w.write(fmt.Sprintf("[windows.short]\nopen = [\"%s-%s\"]\non_close = \"stop\"\n[queues.work]\nwindows = [\"short\"]\n"+
			"[pools.work]\nqueues = [\"work\"]\nchildren = 1\nargs = [\"{data}\"]\ninput = \"none\"\nkill_grace = \"1s\"\ncommand = [\"sleep\"]\n",
			shuts.Add(-time.Hour).Format("15:04:05"), shuts.Format("15:04:05")))
	}
	write(time.Now().UTC().Add(20 * time.Minute))
	w.do("rules", "apply")
	w.run()
	first := w.put(queue.Put{Queue: "work", Klass: "K", Data: []byte("0")})
	until(t, "the supervisor is there", func() bool { return w.field(first, "state") == "complete" })
	for open := 4 * time.Second; open < time.Minute; open *= 2 { // a machine that is busy may begin too late
		shuts := time.Now().UTC().Add(open).Truncate(time.Second)
		write(shuts)
		until(t, "the file counts", func() bool {
			return strings.Contains(w.db.HGet(t.Context(), "ql:oarlock:rules", "doc").Val(), shuts.Format("15:04:05"))
		})
		jid := w.put(queue.Put{Queue: "work", Klass: "K", Data: []byte("100")})
		until(t, "it is held", func() bool { return w.field(jid, "oarlock-window") != "" })
		if time.Now().Before(shuts) || w.field(jid, "state") != "scheduled" || w.field(jid, "remaining") != "5" {
			t.Errorf("it is %s at %v, with %s retries left; its window shut at %v", w.field(jid, "state"), time.Now(), w.field(jid, "remaining"), shuts)
		}
		if w.field(jid, "oarlock-interruptions") == "1" {
			return
		}
	}
	t.Error("no job was stopped")
}
