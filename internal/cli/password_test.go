package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// secretURLs have a password in some place or other, %s: of a Redis that is not there, or that
// cannot be meant. Each is named by what is wrong with it.
var secretURLs = map[string]string{
	"nobody there":         "redis://user:%s@127.0.0.1:1/0",
	"no socket":            "unix://user:%s@/nowhere",
	"an option":            "redis://127.0.0.1:1?password=%s",
	"an option of a path":  "unix:///nowhere?auth=%s&x=%[1]s",
	"a slash":              "redis://user:1/%s@127.0.0.1:1",
	"a question mark":      "redis://user:1?%s@127.0.0.1:1",
	"a hash":               "redis://user:1#%s@127.0.0.1:1",
	"a percent":            "redis://user:%%%s@127.0.0.1:1",
	"a blank":              "redis://user: %s@127.0.0.1:1",
	"no scheme":            "user:%s@127.0.0.1:1",
	"another scheme":       "http://user:%s@127.0.0.1:1",
	"no port":              "redis://user:%s@127.0.0.1:port",
	"no database":          "redis://user:%s@127.0.0.1:1/x",
	"sentinels, no master": "redis+sentinel://user:%s@127.0.0.1:1",
	"a cluster, no tag":    "redis+cluster://user:%s@127.0.0.1:1",
	"a break":              "redis://user:\n%s@127.0.0.1:1",
}

// TestNoCommandTellsAPassword gives every command a URL with a password, by an option, by the
// environment and by a file, and looks for it in all that they print.
func TestNoCommandTellsAPassword(t *testing.T) {
	const password = "s3cr3t"
	s := newScript(t, "")
	look := func(how string, args []string) {
		t.Helper()
		if code := s.anyCode(args); strings.Contains(s.said["stdout"]+s.said["stderr"], password) || code == exitBug {
			t.Errorf("%s: %q ends with %d and says\n%s%s", how, args, code, s.said["stdout"], s.said["stderr"])
		}
	}
	for name, form := range secretURLs {
		url := fmt.Sprintf(form, password)
		if strings.HasPrefix(name, "no ") || strings.HasPrefix(name, "an option") || name == "a slash" { // for the others a few commands will do
			for _, line := range fullLines() {
				if slices.Contains(strings.Fields("run dev demo bench top torture try init"), line[0]) {
					continue // they wait, or need none
				}
				s.env["REDIS_URL"] = ""
				look(name, append(line, "--redis", url))
			}
		}
		s.env["REDIS_URL"] = url
		look(name+" in the environment", []string{"queue", "ls"})
		look(name+" in the environment", []string{"check", "--json"})
		s.env["REDIS_URL"] = ""
		for quote, text := range map[string]string{"as a string": fmt.Sprintf("url = %q", url), "without quotes": "url = " + url, "as a list": fmt.Sprintf("url = [%q]", url), "as a table": fmt.Sprintf("url = {%q = 1}", url),
			"without an end": "url = \"" + url, "as a key": url + " = 1"} {
			file := filepath.Join(t.TempDir(), "c.toml")
			text = "[redis]\n" + text + "\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\n"
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			for _, args := range [][]string{{"put", "q", "{}"}, {"check"}, {"check", "--json"}, {"doctor"}, {"status"}, {"unit"}} {
				look(name+" in a file, "+quote, append(args, "-c", file))
			}
			if !strings.HasPrefix(name, "no ") { // what can be reached may be waited for
				look(name+" in a file, "+quote, []string{"queue", "ls", "-c", file})
			}
		}
	}
}
