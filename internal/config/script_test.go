package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// What a command names is looked for where the command starts. Where its words may mean
// something else, nothing is said.
func TestMissingScript(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"there.py", "there", "there.sh"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
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
		got := p.ScriptTrouble()
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, "the command names "+want+", and there is no "+filepath.Join(dir, want)+": put it there") {
			t.Errorf("%q: %q; want that %q is missing", words, got, want)
		}
	}
}

func TestMissingScriptInThePrivateDirectory(t *testing.T) {
	p := DefaultPool()
	p.Command, p.Sandbox.Dir = []string{"sh", "worker.sh"}, PrivateDir
	if got := p.ScriptTrouble(); got != "the command names worker.sh, but starts in the private directory, which is empty: give an absolute path" {
		t.Error(got)
	}
	p.Command = []string{"sh", filepath.Join(t.TempDir(), "worker.sh")}
	if got := p.ScriptTrouble(); !strings.Contains(got, "there is no "+p.Command[1]) {
		t.Error(got)
	}
}

// A shell cannot read the lines of Windows, and others can.
func TestScriptOfWindows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"of-windows": "set -e\r\necho\r\n", "other": "echo\necho \r\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for words, says := range map[string]string{
		"sh of-windows":                          "the command names of-windows: its lines end as those of Windows do, and a shell takes",
		"nice -n 5 bash of-windows":              "the command names of-windows: its lines end as those of Windows do, and a shell takes",
		"sh other":                               "",
		"python3 of-windows":                     "",
		"sh " + dir:                              "",
		"sh " + filepath.Join(dir, "of-windows"): "the command names " + filepath.Join(dir, "of-windows") + ": its lines",
	} {
		p := DefaultPool()
		p.Command, p.Sandbox.Dir = strings.Fields(words), dir
		if got := p.ScriptTrouble(); !strings.HasPrefix(got, says) || says == "" && got != "" {
			t.Errorf("%q: %q; want %q", words, got, says)
		}
	}
}

// What the kernel would refuse at the first job is a mistake of the configuration.
func TestProgramThatTheKernelRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, says := range map[string]string{
		"#!/bin/sh\n":              "",
		"#!/usr/bin/env sh\n":      "",
		"#!/bin/sh\r\n":            "its lines end as those of Windows do",
		"#!/no/such/thing\n":       `its first line names an interpreter that is not there: "/no/such/thing"`,
		"#!/usr/bin/env no-such\n": `its first line has env look for "no-such", which is not in PATH`,
		"echo\n":                   "it is neither a program for this machine nor a script",
	} {
		file := filepath.Join(dir, "worker")
		must.Do(t, os.WriteFile(file, []byte(text), 0o755))
		var d decoder
		d.program("command", Pool{Command: []string{"./worker"}, Sandbox: Sandbox{Dir: dir}})
		switch {
		case says == "" && len(d.problems) > 0:
			t.Errorf("%q: %v", text, d.problems)
		case says != "" && (len(d.problems) != 1 || !strings.HasPrefix(d.problems[0].Why, "cannot run "+file+": "+says)):
			t.Errorf("%q: %v; want %q", text, d.problems, says)
		}
	}
	file := filepath.Join(dir, "worker")
	must.Do(t, os.WriteFile(file, []byte("#!/usr/bin/env no-such\n"), 0o755))
	var d decoder
	d.program("command", Pool{Command: []string{file}, Env: map[string]string{"PATH": "/elsewhere"}})
	if len(d.problems) > 0 {
		t.Errorf("where only the child knows PATH: %v", d.problems)
	}
}
