package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

func TestListsOfPools(t *testing.T) {
	pool := func(lines string) string { return "[pools.b]\ncommand = [\"true\"]\n" + lines + "\n" }
	for _, tt := range []struct{ text, says string }{
		{pool(`list = "hworker:mail"`), ""},
		{pool(`list = "outbox"` + "\nretry.delay = \"2s\""), ""},
		{pool(`list = "x"` + "\n" + `queues = ["q"]`), "pools.b.list: excludes queues"},
		{pool(`list = "x"` + "\n" + `next_queues = ["q"]`), "pools.b.list: excludes next_queues"},
		{pool(`list = "hworker:"`), "pools.b.list: names none"},
		{pool(`list = " "`), "pools.b.list: names none"},
		{pool(`list = "x"` + "\nlist_timeout = \"0.5s\""), "pools.b.list_timeout: must be 1s or more"},
		{pool(`list = "x"` + "\nlist_failed = 0"), "pools.b.list_failed: must be 1 or more"},
		{pool(`list = "x"` + "\nlist_retries = -1"), "pools.b.list_retries: is negative"},
		{pool(`queues = ["q"]` + "\nlist_retries = 3"), "pools.b.list_retries: has a meaning with list only"},
		{pool(`list = "x"`) + "[pools.c]\ncommand = [\"true\"]\nlist = \"x\"", ""},
		{pool(`list = "x"`) + "[pools.c]\ncommand = [\"true\"]\nlist = \"x\"\nlist_timeout = \"1m\"", "pools.c.list: pool b works it with another list_timeout"},
		{pool(`list = "hworker:m"`) + "[pools.c]\ncommand = [\"true\"]\nlist = \"hworker-jobs-m\"", `pools.c.list: is the list that pool b works as "hworker:m"`},
		{"[redis]\nurl = \"redis+cluster://h:1\"\nnamespace = \"{ql}:\"\n" + pool(`list = "x"`), "pools.b.list: cannot be worked where Redis is a cluster"},
		{pool(`queues = ["q"]` + "\nretry.delay = \"0s\""), "pools.b.retry.delay: must be more than zero"},
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		must.Do(t, os.WriteFile(file, []byte(tt.text), 0o600))
		cfg, err := Load(Options{Path: file, Env: func(string) (string, bool) { return "", false }})
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s\nis refused: %v", tt.text, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s\nsays %v, want %s", tt.text, err, tt.says)
		case tt.says == "":
			if p := cfg.Pools["b"]; p.OnError != "fail" || p.OnCrash != "retry" || p.ListTimeout != 120*second || (p.Retry.Delay != 15*second) != strings.Contains(tt.text, "retry.delay") {
				t.Errorf("%s\nis %+v", tt.text, p)
			}
		}
	}
}

func TestIntakesOfQueues(t *testing.T) {
	pool := "[pools.b]\ncommand = [\"true\"]\nlist = \"x\"\n"
	for _, tt := range []struct{ text, says string }{
		{`queues.a.intake = ["outbox", "hworker:mail"]` + "\n" + pool, ""},
		{`queues.a.intake = []` + "\n" + pool, ""},
		{`queues.a = {}` + "\n" + pool, ""},
		{`queues."two words/and:more".intake = ["outbox"]` + "\n" + pool, ""},
		{`queues.a.intake = "outbox"` + "\n" + pool, "c.toml:1: queues.a.intake: must be a list"},
		{`queues.a.intake = ["x"]` + "\n" + pool, `c.toml:1: queues.a.intake: list "x" is also worked by pool b`},
		{`queues.a.intake = ["y", "y"]` + "\n" + pool, `c.toml:1: queues.a.intake: list "y" is there twice`},
		{"queues.a.intake = [\"y\"]\nqueues.b.intake = [\"y\"]\n" + pool, `c.toml:2: queues.b.intake: list "y" is taken in by queue a already`},
		{`queues.a.intake = ["hworker:m", "hworker-jobs-m"]` + "\n" + pool, `queues.a.intake: list "hworker-jobs-m" is there twice`},
		{`queues.a.intake = ["hworker:"]` + "\n" + pool, "queues.a.intake: names none"},
		{`queues.a.intake = [" "]` + "\n" + pool, "queues.a.intake: names none"},
		{`queues." ".intake = ["y"]` + "\n" + pool, "a queue has a name"},
		{"queues.a.intake = [\"y\"]\nqueues.a.intake_as = \"text\"\n" + pool, "c.toml:2: queues.a.intake_as: "},
		{"queues.a.intake = [\"y\"]\nqueues.a.intake_window = 0\n" + pool, "queues.a.intake_window: must be 1 or more"},
		{"queues.a.intake_window = 5\n" + pool, "queues.a.intake_window: has a meaning with intake only"},
		{"queues.a.intake_as = \"job\"\n" + pool, "queues.a.intake_as: has a meaning with intake only"},
		{"queues.a.key_from = \"order_id\"\n" + pool, `queues.a.key_from: "order_id" is no JSON pointer; write it as /order_id, or /order/id`},
		{"queues.a.order = \"none\"\n" + pool, "queues.a.order: must be \"key\" or left out, not \"none\""},
		{"queues.a.order = \"key\"\nqueues.a.turns = \"odd\"\n" + pool, "c.toml:2: queues.a.turns: "},
		{"queues.a.turns = \"fair\"\n" + pool, "queues.a.turns: needs order = \"key\""},
		{"queues.a.after_fail = \"hold\"\n" + pool, "queues.a.after_fail: needs order = \"key\""},
		{"queues.a.merge = \"set\"\n" + pool, "queues.a.merge: needs order = \"key\""},
		{"queues.a.order = \"key\"\nqueues.a.merge = \"sum\"\n" + pool, "c.toml:2: queues.a.merge: "},
		{"queues.a.order = \"key\"\nqueues.a.merge = \"all\"\nqueues.a.throttles = [\"r\"]\nthrottles.r = { limit = 1, by = \"/region\" }\n" + pool,
			"c.toml:2: queues.a.merge: throttle r counts by /region of the data, and a job that merges may have many; let it count by $klass, $queue or $tag:"},
		{"queues.a.order = \"key\"\nqueues.a.merge = \"last\"\nklass.K = { queues = [\"a\"], throttles = [\"s\", \"r\"] }\nthrottles.r = { limit = 1, by = \"/region\" }\n" + pool,
			"c.toml:2: queues.a.merge: throttle r counts by /region"},
		{"queues.a.order = \"key\"\nqueues.a.merge = \"all\"\nqueues.a.throttles = [\"r\"]\nqueues.b.throttles = [\"p\"]\n" +
			"throttles.r = { limit = 1, by = \"$tag:region=\" }\nthrottles.p = { limit = 1, by = \"/region\" }\n" + pool, ""},
		{"queues.a.order = \"key\"\nqueues.a.score = \"mean\"\n" + pool, "c.toml:2: queues.a.score: "},
		{"queues.a.order = \"key\"\nqueues.a.run_payloads = 0\n" + pool, "queues.a.run_payloads: must be from 1 to 1000: 0"},
		{"queues.a.order = \"key\"\nqueues.a.run_bytes = \"5MiB\"\n" + pool, "queues.a.run_bytes: must be from 1B to 4MiB"},
		{"queues.a.intak = [\"y\"]\n" + pool, "did you mean \"intake\"?"},
		{"redis.url = \"redis+cluster://h:1\"\nredis.namespace = \"{ql}:\"\nqueues.a.intake = [\"y\"]\n", "queues.a.intake: cannot be taken in where Redis is a cluster"},
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		must.Do(t, os.WriteFile(file, []byte(tt.text), 0o600))
		_, err := Load(Options{Path: file, Env: func(string) (string, bool) { return "", false }})
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s\nsays %v, want %q", tt.text, err, tt.says)
		}
	}
}
