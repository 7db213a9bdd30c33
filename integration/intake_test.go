package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
)

// TestIntakeThroughKills kills supervisors that take in a list, again and again and two at a time, while replies to them are lost: each entry
// becomes one job, once, and is worked.
func TestIntakeThroughKills(t *testing.T) {
	entries, kills := 300, 3
	if wholeMatrix {
		entries, kills = 10_000, 100
	}
	server, dir := redistest.Start(t), t.TempDir()
	proxy := faultproxy.Start(t, "unix", server.Addr)
	proxy.Drop(0.03, "evalsha", 1)
	db := server.Client(t)
	db.HSet(t.Context(), "ql:config", "jobs-history-count", 1_000_000, "heartbeat", 2, "grace-period", 1)
	start := func(name string) *exec.Cmd {
		config := filepath.Join(dir, name+".toml")
		text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\n[queues.orders]\nintake = [\"new\"]\nintake_window = 50\n"+
			"[pools.orders]\nqueues = [\"orders\"]\ncommand = [\"true\"]\ninput = \"none\"\nmax_crashes = 1000\n", proxy.URL, filepath.Join(dir, name))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(oarlock(t), "run", "-c", config, "--log-level", "error")
		run.Stderr = t.Output()
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		return run
	}
	jobs := func() map[string]int { // how many there are of each entry
		found := map[string]int{}
		for scan := db.Scan(t.Context(), 0, "ql:j:????????????????????????????????", 1000).Iterator(); scan.Next(t.Context()); {
			found[db.HGet(t.Context(), scan.Val(), "data").Val()]++
		}
		return found
	}
	for k := range kills {
		one, other, before := start("one"), start("other"), db.ZCard(t.Context(), "ql:completed").Val()
		for i := k * entries / kills; i < (k+1)*entries/kills; i++ {
			if err := db.LPush(t.Context(), "new", i).Err(); err != nil {
				t.Fatal(err)
			}
		}
		until := before + 1 + rand.Int64N(int64(entries/kills/2))
		for end := time.Now().Add(time.Minute); db.ZCard(t.Context(), "ql:completed").Val() < until && time.Now().Before(end); {
			time.Sleep(2 * time.Millisecond) // Redis tells nobody
		}
		one.Process.Kill()
		other.Process.Kill()
		one.Wait()
		other.Wait()
	}
	last := start("one")
	defer func() { last.Process.Signal(syscall.SIGTERM); last.Wait() }()
	for end := time.Now().Add(2 * time.Minute); db.ZCard(t.Context(), "ql:completed").Val() < int64(entries) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // Redis tells nobody
	}
	found := jobs()
	for entry, n := range found {
		if n != 1 {
			t.Errorf("entry %s became %d jobs", entry, n)
		}
	}
	if done := db.ZCard(t.Context(), "ql:completed").Val(); len(found) != entries || done != int64(entries) || db.LLen(t.Context(), "new").Val() != 0 {
		t.Errorf("of %d entries %d became jobs, and %d were done", entries, len(found), done)
	}
	t.Logf("%d entries, %d kills of two, %d replies dropped", entries, kills, proxy.Dropped())
}
