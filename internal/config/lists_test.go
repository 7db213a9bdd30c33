package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"[redis]\nurl = \"redis+cluster://h:1\"\nnamespace = \"{ql}:\"\n" + pool(`list = "x"`), "pools.b.list: cannot be worked in a cluster"},
		{pool(`queues = ["q"]` + "\nretry.delay = \"0s\""), "pools.b.retry.delay: must be more than zero"},
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := Load(Options{Path: file, Env: func(string) (string, bool) { return "", false }})
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s\nis refused: %v", tt.text, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s\nsays %v, want %s", tt.text, err, tt.says)
		case tt.says == "":
			if p := cfg.Pools["b"]; p.OnError != "fail" || p.OnCrash != "retry" || p.ListTimeout != 120*second || strings.Contains(tt.text, "retry") != (p.Retry.Delay > 0) {
				t.Errorf("%s\nis %+v", tt.text, p)
			}
		}
	}
}
