package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a command names is looked for where the command starts. Where its words may mean
// something else, nothing is said.
func TestMissingScript(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"there.py", "there", "there.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]string{ // a command, and the script that is missing
		"python3 worker.py":                   "worker.py",
		"python3.12 -u worker.py --fast":      "worker.py",
		"/usr/bin/python3 worker":             "worker",
		"python3 -X dev -W ignore worker.py":  "worker.py",
		"sh ./worker":                         "./worker",
		"sh -eu worker.sh":                    "worker.sh",
		"bash -- worker.sh":                   "worker.sh",
		"bash -euo pipefail worker.sh":        "worker.sh",
		"php artisan queue:work":              "artisan",
		"php -d memory_limit=1G work.php":     "work.php",
		"node --enable-source-maps dist/w.js": "dist/w.js",
		"nice -n 5 python3 worker.py":         "worker.py",
		"timeout 60 env A=b ruby worker.rb":   "worker.rb",
		"python3 there.py/worker.py":          "there.py/worker.py", // no directory

		"python3 there.py worker.py":         "", // a word of its own
		"python3 there":                      "",
		"sh there.sh":                        "",
		"sh -c worker.sh":                    "",
		"bash -lc ./worker.sh":               "",
		"sh -s worker.sh":                    "",
		"python3 -m worker":                  "",
		"python3 -um worker worker.py":       "",
		"python3 -c print(1)":                "",
		"python3 -":                          "",
		"python3":                            "",
		"ruby -S rake":                       "",
		"ruby -e puts worker.rb":             "",
		"node worker":                        "", // it may be worker.js
		"node -r ./hook worker":              "",
		"node --eval x.js":                   "",
		"perl -ne print worker.pl":           "",
		"php -r echo(1); x.php":              "",
		"sh true":                            "", // found in PATH
		"env -C /app python3 worker.py":      "",
		"env FOO=bar ./anything.sh":          "",
		"docker run image python3 worker.py": "", // it is in there
		"ssh host python3 worker.py":         "",
		"ffmpeg -i in.mp4 out.py":            "",
		"python3 {data.script}":              "",
		"python3 $HOME/worker.py":            "",
		"true":                               "",
		"":                                   "",
	}
	for words, want := range tests {
		p := DefaultPool()
		p.Command, p.Sandbox.Dir = strings.Fields(words), dir
		got := p.MissingScript()
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, "the command names "+want+", and there is no "+filepath.Join(dir, want)+": put it there") {
			t.Errorf("%q: %q; want that %q is missing", words, got, want)
		}
	}
}

func TestMissingScriptInThePrivateDirectory(t *testing.T) {
	p := DefaultPool()
	p.Command, p.Sandbox.Dir = []string{"sh", "worker.sh"}, PrivateDir
	if got := p.MissingScript(); got != "the command names worker.sh, but starts in the private directory, which is empty: give an absolute path" {
		t.Error(got)
	}
	p.Command = []string{"sh", filepath.Join(t.TempDir(), "worker.sh")}
	if got := p.MissingScript(); !strings.Contains(got, "there is no "+p.Command[1]) {
		t.Error(got)
	}
}
