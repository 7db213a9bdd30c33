package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// An operator's year: ten and more incidents at night. Who is woken has `oarlock status`, `oarlock doctor`
// and `oarlock job why`, and the table "At night" of docs/operating.md. Each row of it is played here: the
// command that the row names says the words that the row quotes, among them what to do; that is done, and
// the job that waited is done then.

// night is one incident, while it lasts.
type night struct {
	*rig
	a     *supervisor
	pool  pool
	jid   string // of the job that somebody waits for
	other string // what is in its way: another job, a group, a directory

	readOn func() // of the log
}

// incident is what befalls a pool.
type incident struct {
	pool  pool
	lock  time.Duration
	begin func(t *testing.T, n *night) error // the error says why this machine cannot show it
	// mend does what the row asks for before its commands are run, if it does.
	mend func(t *testing.T, n *night)
}

// incidents are by the first cell of their row.
var incidents = map[string]incident{
	"The queue was paused, and forgotten": {begin: func(t *testing.T, n *night) error {
		n.a.control(t, "queue", "pause", "work")
		return nil
	}},
	"The pool was made quiet": {begin: func(t *testing.T, n *night) error {
		n.a.control(t, "quiet")
		return nil
	}},
	"The pool was scaled to nothing": {begin: func(t *testing.T, n *night) error {
		n.a.control(t, "scale", "work", "0")
		return nil
	}},
	"No child starts": {
		begin: func(t *testing.T, n *night) error {
			n.a.stop(t)
			n.program(t, "def work(:\n")
			n.a = n.start(t, "a", n.pool)
			return nil
		},
		mend: repair,
	},
	"Every job fails": {
		begin: func(t *testing.T, n *night) error {
			n.a.stop(t)
			n.program(t, brokenPrograms["raises at each job"])
			n.put(t, 600, work{}) // so many that it is not reached meanwhile
			n.a = n.start(t, "a", n.pool)
			n.a.said(t, "breaker open")
			return nil
		},
		mend: repair,
	},
	"New code hangs": {
		pool: pool{more: `start_timeout = "1h"`},
		begin: func(t *testing.T, n *night) error {
			n.program(t, brokenPrograms["hangs at its start"])
			n.a.control(t, "recycle")
			return nil
		},
		mend: repair,
	},
	"The program is missing": {
		pool: pool{mode: "once"},
		begin: func(t *testing.T, n *night) error {
			n.a.stop(t)
			n.pool.command = []string{filepath.Join(n.dir, "handler.sh")}
			copyFile(t, fixture(t, "worker.sh"), n.pool.command[0])
			n.a = n.start(t, "a", n.pool)
			n.a.said(t, `"msg":"ready"`)
			must(t, os.Remove(n.pool.command[0]))
			return nil
		},
		mend: func(t *testing.T, n *night) { copyFile(t, fixture(t, "worker.sh"), n.pool.command[0]) },
	},
	"Redis is away": {
		begin: func(t *testing.T, n *night) error {
			n.a.control(t, "quiet")
			n.wait(t)
			n.redis.Stop()
			n.a.control(t, "resume")
			return nil
		},
		mend: func(_ *testing.T, n *night) { n.redis.Restart() },
	},
	"Redis takes no writes": {
		begin: func(t *testing.T, n *night) error {
			n.a.control(t, "quiet")
			n.wait(t)
			n.a.control(t, "resume")
			return n.db.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err()
		},
		mend: func(t *testing.T, n *night) { n.db.Do(t.Context(), "REPLICAOF", "NO", "ONE") },
	},
	"It depends on a job that failed": {
		begin: func(t *testing.T, n *night) error {
			n.a.stop(t)
			n.program(t, brokenPrograms["raises at each job"])
			n.other = n.put(t, 1, work{})[0]
			n.jid = n.putOne(t, work{}, func(p *queue.Put) { p.Depends = []string{n.other} })
			n.a = n.start(t, "a", n.pool)
			return nil
		},
		mend: func(t *testing.T, n *night) {
			repair(t, n)
			n.a.stop(t)
			n.a = n.start(t, "a", n.pool)
			n.a.said(t, `"msg":"ready"`)
		},
	},
	"It waits for a throttle whose holder is no more": {begin: func(t *testing.T, n *night) error {
		must(t, n.client.SetThrottle(t.Context(), queue.Throttle{ID: "license", Maximum: 1}))
		must(t, n.db.ZAdd(t.Context(), "ql:th:license-locks", redis.Z{Member: "nobody"}).Err())
		n.jid = n.putOne(t, work{}, func(p *queue.Put) { p.Throttles = []string{"license"} })
		return nil
	}},
	"Nobody works its queue": {
		begin: func(t *testing.T, n *night) error {
			n.jid = n.putOne(t, work{}, func(p *queue.Put) { p.Queue = "mail" })
			return nil
		},
		mend: func(t *testing.T, n *night) {
			n.a.write(t, strings.Replace(n.config(t, "a", n.pool), `queues = ["work"]`, `queues = ["work", "mail"]`, 1))
		},
	},
	"It is too large for its pool": {
		pool: pool{more: `max_job = "16KiB"`},
		begin: func(t *testing.T, n *night) error {
			n.jid = n.putOne(t, work{}, func(p *queue.Put) {
				p.Data = fmt.Appendf(nil, `{"ms": 1, "fill": %q}`, strings.Repeat("x", 20_000))
			})
			return nil
		},
		mend: func(t *testing.T, n *night) {
			n.pool.more = `max_job = "1MiB"`
			n.a.write(t, n.config(t, "a", n.pool))
			n.a.said(t, saysReloaded)
		},
	},
	"Its host died": {
		lock: 10 * time.Minute,
		begin: func(t *testing.T, n *night) error {
			n.a.control(t, "quiet")
			n.wait(t)
			n.takenByTheDead(t)
			n.a.control(t, "resume")
			return nil
		},
	},
	"It waits for a throttle that a dead host's job holds": {
		lock: 10 * time.Minute,
		begin: func(t *testing.T, n *night) error {
			must(t, n.client.SetThrottle(t.Context(), queue.Throttle{ID: "license", Maximum: 1}))
			licensed := func(p *queue.Put) { p.Throttles = []string{"license"} }
			n.a.control(t, "quiet")
			n.other = n.putOne(t, work{}, licensed)
			n.takenByTheDead(t)
			n.jid = n.putOne(t, work{}, licensed)
			n.a.control(t, "resume")
			return nil
		},
	},
	"No supervisor runs": {
		begin: func(t *testing.T, n *night) error {
			n.a.stop(t)
			return nil
		},
		mend: func(t *testing.T, n *night) { n.a = n.start(t, "a", n.pool) },
	},
	"Processes are used up": {
		pool: pool{mode: "once", more: `sandbox.kill = "group"`},
		begin: func(t *testing.T, n *night) error {
			group, err := pidsGroup(t, 400)
			if err != nil {
				return err
			}
			n.other = group
			n.a.stop(t)
			n.under(t, "echo $$ > "+group+"/cgroup.procs")
			n.a = n.start(t, "a", n.pool)
			n.a.said(t, `"msg":"ready"`)
			must(t, setPids(group, 5))
			return nil
		},
		mend: func(t *testing.T, n *night) {
			must(t, setPids(n.other, 400))
		},
	},
	"The disk is full": {
		pool: pool{mode: "once"},
		begin: func(t *testing.T, n *night) error {
			dir, err := tmpfs(t, "1m,nr_inodes=200")
			if err != nil {
				return err
			}
			n.other = dir
			n.a.stop(t)
			n.a = n.startConfig(t, "a", strings.Replace(n.config(t, "a", n.pool),
				fmt.Sprintf("state_dir = %q", n.stateDir("a")), fmt.Sprintf("state_dir = %q", dir+"/state"), 1))
			n.a.said(t, `"msg":"ready"`)
			fill(t, dir+"/ballast")
			for i := 0; os.WriteFile(fmt.Sprint(dir, "/inode", i), nil, 0o600) == nil; i++ {
			}
			return nil
		},
		mend: func(t *testing.T, n *night) {
			left := got(filepath.Glob(n.other + "/inode*"))(t)
			for _, path := range append(left, n.other+"/ballast") {
				os.Remove(path)
			}
		},
	},
	"Nobody reads the log": {
		begin: func(t *testing.T, n *night) error {
			n.put(t, 300, work{MS: 1, Flood: 2})
			n.a.mu.Lock() // our reader waits for it
			n.readOn = sync.OnceFunc(n.a.mu.Unlock)
			t.Cleanup(n.readOn)
			return nil
		},
		mend: func(_ *testing.T, n *night) { n.readOn() },
	},
}

// TestTenIncidentsAtNight plays the table.
func TestTenIncidentsAtNight(t *testing.T) {
	long(t, "eighteen incidents")
	rows := atNight(t)
	for name := range incidents {
		if !slices.ContainsFunc(rows, func(row nightRow) bool { return row.name == name }) {
			t.Errorf("docs/operating.md does not tell of %q", name)
		}
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			what, known := incidents[row.name]
			if !known {
				t.Fatal("nothing here lets it happen")
			}
			n := &night{rig: newRig(t, 1, rigOptions{lock: what.lock}), pool: what.pool}
			repair(t, n)
			if n.pool.children = 2; n.pool.mode != "once" {
				python := command(t, "worker.py")
				n.pool.command = append(python[:len(python)-1], n.programPath())
			} else {
				n.pool.worker = "worker.sh"
			}
			n.a = n.start(t, "a", n.pool)
			n.put(t, 4, work{})
			n.settled(t)
			if err := what.begin(t, n); err != nil {
				notHere("at night: "+row.name, err)
				return
			}
			if n.jid == "" {
				n.wait(t)
			}
			n.asked(t, row)
			if what.mend != nil {
				what.mend(t, n)
			}
			for _, words := range row.remedies {
				n.a.control(t, strings.Fields(n.named(words))[1:]...)
			}
			await(t, func() error {
				if j := readJobs(t, n.db, []string{n.jid})[0]; j.state != "complete" {
					return fmt.Errorf("after what was to be done the job is %s", j.state)
				}
				return nil
			})
		})
	}
}

// asked waits until the command of the row says its words, and what to do about it.
func (n *night) asked(t *testing.T, row nightRow) {
	t.Helper()
	ask := append(strings.Fields(n.named(row.ask))[1:], "-c", n.a.config)
	await(t, func() error {
		out, err := exec.Command(oarlock(t), ask...).CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		screen := string(bytes.Join(bytes.Fields(out), []byte(" ")))
		for _, words := range append(slices.Clone(row.says), row.remedies...) {
			var parts []string
			for part := range strings.SplitSeq(n.named(words), "…") {
				parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
			}
			if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(screen) {
				return fmt.Errorf("`%s` does not say %q:\n%s", n.named(row.ask), n.named(words), out)
			}
		}
		return nil
	})
}

// named puts names in the place of those that the page has.
func (n *night) named(words string) string {
	return strings.NewReplacer("JID", n.jid, "ANOTHER", n.other, "QUEUE", "work", "POOL", "work").Replace(words)
}

// wait puts the job that somebody waits for.
func (n *night) wait(t *testing.T) {
	t.Helper()
	n.jid = n.put(t, 1, work{MS: 1})[0]
}

// takenByTheDead has the next job taken by a worker of this host whose process is gone.
func (n *night) takenByTheDead(t *testing.T) {
	t.Helper()
	host := got(os.Hostname())(t)
	gone := exec.Command("true")
	must(t, gone.Run())
	worker := fmt.Sprintf("%s-%d-gone", host, gone.Process.Pid)
	if jobs, err := n.client.Pop(t.Context(), "work", worker, 1); err != nil || len(jobs) != 1 {
		t.Fatalf("the dead worker got %d jobs: %v", len(jobs), err)
	}
}

func (n *night) programPath() string { return filepath.Join(n.dir, "program.py") }

// program writes the program of the pool.
func (n *night) program(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile(n.programPath(), []byte(text), 0o600))
}

// repair writes the program that works.
func repair(t *testing.T, n *night) {
	t.Helper()
	n.program(t, fmt.Sprintf("import runpy\nprint('{\"@\":\"hello\",\"v\":[1]}', flush=True)\nrunpy.run_path(%q)\n", fixture(t, "worker.py")))
}

// nightRow is a row of the table.
type nightRow struct {
	name     string
	ask      string   // a command
	says     []string // what it says, where … is anything
	remedies []string // commands to run, in order; it says these, too
}

var quoted = regexp.MustCompile("`` (.*?) ``|`([^`]+)`")

// atNight reads the table.
func atNight(t *testing.T) (rows []nightRow) {
	t.Helper()
	_, section, found := strings.Cut(strings.Join(lines(t, "../docs/operating.md"), "\n"), "## At night\n")
	if !found {
		t.Fatal("docs/operating.md has no section \"At night\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		row := nightRow{name: strings.TrimSpace(cells[0]), ask: strings.Trim(strings.TrimSpace(cells[1]), "`")}
		for _, words := range quoted.FindAllStringSubmatch(cells[2], -1) {
			row.says = append(row.says, words[1]+words[2])
		}
		for _, words := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if strings.HasPrefix(words[2], "oarlock ") {
				row.remedies = append(row.remedies, words[2])
			}
		}
		if len(row.says) == 0 {
			t.Errorf("%q: the page does not say what is on the screen", row.name)
		}
		rows = append(rows, row)
	}
	if len(rows) < 10 {
		t.Fatalf("the page tells of %d incidents", len(rows))
	}
	return rows
}
