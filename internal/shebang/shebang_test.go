package shebang

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"
)

// What is said before is what the kernel does: each file is run, too.
func TestTrouble(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Symlink("/bin/sh", filepath.Join(dir, "mine")))
	tests := []struct{ name, text, says, env string }{
		{"plain", "#!/bin/sh\n", "", ""},
		{"blanks", "#! /bin/sh -e \necho\n", "", ""},
		{"no end of the line", "#!/bin/sh", "", ""},
		{"relative", "#!mine\n", "", ""},
		{"env", "#!/usr/bin/env sh\n", "", "sh"},
		{"env -S", "#!/usr/bin/env -S sh -e\n", "", "sh"},
		{"env and an option", "#!/usr/bin/env --version\n", "", ""},
		{"nobody", "#!/no/such/thing -x\n", `its first line names an interpreter that is not there: "/no/such/thing -x"`, ""},
		{"nobody here", "#!theirs\n", `its first line names an interpreter that is not there: "theirs"`, ""},
		{"Windows", "#!/bin/sh\r\necho\r\n", `its lines end as those of Windows do`, ""},
		{"a mark", "\xef\xbb\xbf#!/bin/sh\n", "a byte order mark stands before its first line", ""},
		{"no first line", "echo\n", NoFormat, ""},
		{"nothing named", "#!\n", NoFormat, ""},
		{"nothing", "", NoFormat, ""},
		{"bytes", "\x00\x01\x02", "", ""}, // the kernel may have been told of that
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(dir, "file")
			must.Do(t, os.WriteFile(file, []byte(tt.text), 0o755))
			if got := Trouble(file, dir); !strings.HasPrefix(got, tt.says) || tt.says == "" && got != "" {
				t.Errorf("says %q; want %q", got, tt.says)
			}
			if got := OfEnv(file); got != tt.env {
				t.Errorf("asks env for %q; want %q", got, tt.env)
			}
			cmd := exec.Command(file)
			cmd.Dir = dir
			err := cmd.Run()
			refused := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOEXEC)
			if refused != (tt.says != "") && tt.name != "bytes" {
				t.Errorf("running it: %v", err)
			}
		})
	}
	if got := Trouble("/bin/sh", dir) + Trouble(filepath.Join(dir, "missing"), dir); got != "" {
		t.Error(got)
	}
}
