// Package packaging_test checks what is packaged against the program and systemd.
package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

var units = []string{"oarlock.service", "oarlock@.service"}

// TestUnitsAreGood has systemd read the units. The program's path stands for one
// that is there, for systemd looks.
func TestUnitsAreGood(t *testing.T) {
	must.Have(t, "systemd-analyze")
	dir := t.TempDir()
	for _, name := range units {
		text := strings.ReplaceAll(read(t, "systemd/"+name), "/usr/bin/oarlock", "/bin/true")
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// An instance is read from a template of that name.
	must.Do(t, os.Symlink("oarlock@.service", filepath.Join(dir, "oarlock@mail.service")))
	for _, name := range []string{"oarlock.service", "oarlock@mail.service"} {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	// The unit is worth as much as its worst directive: 10 is open, 0 is shut.
	out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=40", filepath.Join(dir, "oarlock.service")).CombinedOutput()
	if err != nil {
		t.Errorf("exposure above 4.0: %v\n%s", err, out)
	}
}

// TestUnitsSuitTheProgram compares what the units promise with what it does.
func TestUnitsSuitTheProgram(t *testing.T) {
	defaults := config.Defaults()
	stop := time.Duration(defaults.Supervisor.DrainTimeout) + time.Duration(config.DefaultPool().KillGrace)
	for _, name := range units {
		set := directives(read(t, "systemd/"+name))
		for directive, want := range map[string]string{
			"Type": "notify", "KillMode": "mixed", "OOMPolicy": "continue", "Delegate": "yes",
			"Restart": "on-failure", "RestartPreventExitStatus": "64 78", "StartLimitIntervalSec": "0", "NotifyAccess": "main",
		} {
			if got := set[directive]; got != want {
				t.Errorf("%s: %s is %q, want %q", name, directive, got, want)
			}
		}
		patience, err := time.ParseDuration(set["TimeoutStopSec"] + "s")
		if err != nil || patience <= stop {
			t.Errorf("%s: TimeoutStopSec is %v (%v), the defaults need more than %v", name, patience, err, stop)
		}
		if set["ProtectControlGroups"] == "yes" || set["MemoryDenyWriteExecute"] == "yes" {
			t.Errorf("%s: shuts out the children", name)
		}
	}
}

// TestUnitsAgree: the template differs from the plain unit where it must, and
// nowhere else.
func TestUnitsAgree(t *testing.T) {
	plain, template := body(read(t, "systemd/oarlock.service")), body(read(t, "systemd/oarlock@.service"))
	template = strings.NewReplacer(
		" (%i)", "", "oarlock/%i.toml", "oarlock/config.toml", "default/oarlock-%i", "default/oarlock",
		"StateDirectory=oarlock/%i", "StateDirectory=oarlock", "/var/lib/oarlock/%i", "/var/lib/oarlock",
	).Replace(template)
	if plain != template {
		t.Errorf("the units drifted apart:\n%s\n--- template\n%s", plain, template)
	}
}

// TestPackageIsWhole: every file that a package takes is there.
func TestPackageIsWhole(t *testing.T) {
	files := 0
	for line := range strings.Lines(read(t, "nfpm.yaml")) {
		_, path, found := strings.Cut(line, " ./")
		path = strings.TrimSpace(path)
		if !found || path == "oarlock" { // the binary is built for the package
			continue
		}
		files++
		if there, err := filepath.Glob(filepath.Join("..", path)); err != nil || len(there) == 0 {
			t.Errorf("there is no %s (%v)", path, err)
		}
	}
	if files == 0 {
		t.Error("no files found")
	}
	for _, script := range []string{"postinstall.sh", "preremove.sh"} {
		if out, err := exec.Command("sh", "-n", "scripts/"+script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// body is a unit without the words at its top.
func body(unit string) string { return unit[strings.Index(unit, "[Unit]"):] }

// directives are the settings of a unit; of repeated ones the last.
func directives(unit string) map[string]string {
	set := make(map[string]string)
	for line := range strings.Lines(unit) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(name, "#") {
			set[name] = value
		}
	}
	return set
}

// TestReadmeIsTrue: what the page says of directives stands in the units.
func TestReadmeIsTrue(t *testing.T) {
	said := regexp.MustCompile("`([A-Z][A-Za-z]+)=([a-z0-9-]+)`").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(said) < 5 {
		t.Fatalf("only %d directives are named with a value", len(said))
	}
	for _, name := range units {
		set := directives(read(t, "systemd/"+name))
		for _, words := range said {
			if words[2] != "control-group" && set[words[1]] != words[2] { // which is what it should not be
				t.Errorf("README.md says %s=%s, %s says %s", words[1], words[2], name, set[words[1]])
			}
		}
		for directive := range set {
			if strings.Contains(read(t, "README.md"), "No `"+directive+"=`") {
				t.Errorf("README.md says that there is no %s, %s has it", directive, name)
			}
		}
	}
}
