package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
)

// TestIntakeThroughKills kills supervisors that take in a list, again and again and two at a time, while replies to them are lost: each entry
// becomes one job, once, and is worked.
func TestIntakeThroughKills(t *testing.T) {
	t.Parallel()
	entries, kills := scaled(300, 10_000), scaled(3, 100)
	server, dir := redistest.Start(t), t.TempDir()
	proxy := faultproxy.Start(t, "unix", server.Addr)
	proxy.Drop(0.03, "evalsha", 1)
	db := server.Client(t)
	db.HSet(t.Context(), "ql:config", "jobs-history-count", 1_000_000, "heartbeat", 2, "grace-period", 1)
	start := func(name string) *exec.Cmd {
		config := filepath.Join(dir, name+".toml")
		text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\n[queues.orders]\nintake = [\"new\"]\nintake_window = 50\n"+
			"[pools.orders]\nqueues = [\"orders\"]\ncommand = [\"true\"]\ninput = \"none\"\nmax_crashes = 1000\n", proxy.URL, filepath.Join(dir, name))
		must(t, os.WriteFile(config, []byte(text), 0o600))
		return begin(t, config)
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
			must(t, db.LPush(t.Context(), "new", i).Err())
		}
		enough := before + 1 + rand.Int64N(int64(entries/kills/2))
		until(t, "some are done", func() bool { return db.ZCard(t.Context(), "ql:completed").Val() >= enough })
		endNow(one)
		endNow(other)
	}
	start("one")
	until(t, "all are done", func() bool { return db.ZCard(t.Context(), "ql:completed").Val() >= int64(entries) })
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

// TestAWrongSettingLosesNoEntry makes every entry one that cannot be a job by a misspelled key_from, more than a thousand, some of them alike. All that
// one looks at says so; when it is mended, one verb puts all back, and each becomes a job once.
func TestAWrongSettingLosesNoEntry(t *testing.T) {
	t.Parallel()
	const entries, copies = 1200, 3
	server, dir := redistest.Start(t), t.TempDir()
	db := server.Client(t)
	config := filepath.Join(dir, "oarlock.toml")
	write := func(from string) {
		text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\n[queues.orders]\nkey_from = %q\nintake = [\"new\"]\nintake_window = 5000\n"+
			"[pools.others]\nqueues = [\"others\"]\ncommand = [\"true\"]\ninput = \"none\"\n", server.URL, filepath.Join(dir, "state"), from)
		must(t, os.WriteFile(config, []byte(text), 0o600))
	}
	write("/custmer")
	begin(t, config)
	says := func(args ...string) string {
		said, _ := exec.Command(oarlock(t), append(args, "-c", config)...).CombinedOutput() // doctor exits as it finds
		return string(said)
	}
	push := db.Pipeline()
	for i := range entries {
		push.LPush(t.Context(), "new", fmt.Sprintf(`{"customer":%d,"n":%d}`, i%7, i))
	}
	for range copies {
		push.LPush(t.Context(), "new", `{"customer":1}`)
	}
	got(push.Exec(t.Context()))(t)
	until(t, "all is set aside", func() bool { return db.LLen(t.Context(), "new").Val() == 0 })
	until(t, "status says so", func() bool {
		return strings.Contains(says("status"), "1,201 of it cannot be jobs, and wait for somebody: `oarlock list broken new` says why")
	})
	for _, want := range []string{"1201 entries cannot be jobs, one for: ", "/custmer", "list retry LIST --broken"} {
		if said := says("doctor"); !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
	write("/customer")
	if said := says("reload"); strings.Contains(said, "rror") {
		t.Fatal(said)
	}
	if said := says("list", "retry", "new", "--broken"); !strings.Contains(said, "put back: 1,203") {
		t.Errorf("list retry says %s", said)
	}
	until(t, "each is a job", func() bool {
		return len(db.Keys(t.Context(), "ql:j:????????????????????????????????").Val()) == entries+copies
	})
	until(t, "status says no more of it", func() bool { return !strings.Contains(says("status"), "cannot be jobs") })
}
