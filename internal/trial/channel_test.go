package trial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/runner"
)

// Jobs of these programs start others. Each helper keeps the pipe of jobs from them; a loop of the shell that does not is found out.
func TestJobsKeepTheirChannel(t *testing.T) {
	examples := must.Get(filepath.Abs("../../examples"))(t)
	for _, tt := range []struct {
		name, interpreter, text string
		mode                    runner.Mode
		shares                  bool
	}{
		{"a loop of the shell", "sh", `while read -r line; do
  sleep 0.3
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done`, runner.Reuse, true},
		{"a careful loop", "sh", `while read -r line <&3; do
  sleep 0.3 3<&-
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done 3<&0 </dev/null`, runner.Reuse, false},
		{"python", "python3", python, runner.Reuse, false},
		{"python preload", "python3", python, runner.Preload, false},
		{"ruby", "ruby", ruby, runner.Reuse, false},
		{"ruby preload", "ruby", ruby, runner.Preload, false},
		{"node", "node", `const oarlock = require("EXAMPLES/node/oarlock");
oarlock.job("Count", () => { require("child_process").spawnSync("sleep", ["0.3"], { stdio: "inherit" }); });
oarlock.serve();`, runner.Reuse, false},
		{"php", "php", `<?php
require 'EXAMPLES/php/oarlock.php';
Oarlock\job('Count', function ($job) { passthru('sleep 0.3'); });
Oarlock\serve();`, runner.Reuse, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.interpreter); err != nil {
				t.Skip(tt.interpreter + " is not installed")
			}
			if testing.Short() && tt.interpreter != "sh" && tt.interpreter != "node" {
				t.Skip("long: starts an interpreter")
			}
			dir := t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, "worker"), []byte(strings.ReplaceAll(tt.text, "EXAMPLES", examples)), 0o600))
			err := keepsChannel(t.Context(), newTrial(t, dir, tt.mode, "{}", tt.interpreter, "worker"))
			if shares := err != nil && strings.Contains(err.Error(), "pipe of jobs"); shares != tt.shares || err != nil && !shares {
				t.Errorf("it shares its pipe: %v, want %v: %v", shares, tt.shares, err)
			}
		})
	}
	if err := keepsChannel(t.Context(), newTrial(t, "testdata", runner.Reuse, "{}", "sh", "answers.sh")); !errors.Is(err, errLeft) {
		t.Errorf("of a program whose jobs start nothing it says %v", err)
	}
}

const (
	python = `import subprocess, sys
sys.path.insert(0, "EXAMPLES/python")
import oarlock

@oarlock.job("Count")
def count(job):
    subprocess.run(["sleep", "0.3"], close_fds=False)

oarlock.serve()`
	ruby = `require "EXAMPLES/ruby/oarlock"
Oarlock.job("Count") { |job| system("sleep 0.3", close_others: false) }
Oarlock.serve`
)
