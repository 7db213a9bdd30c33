package cli

import (
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"
)

// All supervisors of a namespace are asked, by whomever; one that stands still is counted.
func TestStatusOfAll(t *testing.T) {
	s := newScript(t, "-- a.toml --\n[supervisor]\nname = \"one\"\n[pools.omega]\nqueues = [\"o\"]\ncommand = [\"cat\"]\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"cat\"]\n"+
		"-- b.toml --\n[supervisor]\nname = \"two\"\nstate_dir = \"b\"\n[pools.other]\nqueues = [\"r\"]\ncommand = [\"cat\"]\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"cat\"]\n")
	s.says(t, exitFailed, "status --all", "No supervisor in this namespace of Redis answers")
	s.says(t, exitUsage, "status --all --pid 1")
	one, two := begin(t, s, "run", "-c", "a.toml"), begin(t, s, "run", "-c", "b.toml")
	one.await(`ready`)
	two.await(`ready`)
	text := one.until("2 supervisors answered in this namespace", "status", "--all")
	for _, want := range []string{"one", "two", "ready"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Both have a pool of that glob, for on a busy machine one may answer too late.
	text = one.until(`"answered": 2,`, "status", "--all", "o*", "--json")
	if strings.Contains(text, `"name": "p"`) || strings.Count(text, `"pools": 1,`) != 2 {
		t.Errorf("of pools o*:\n%s", text)
	}
	s.says(t, exitGone, "status --all nobody", "no supervisor that answered has a pool nobody: ")
	two.signal(syscall.SIGSTOP)
	text = one.until(`"missing": 1,`, "status", "--all", "--json") // once it stands still
	for _, want := range []string{`"asked": 2,`, `"answered": 1,`, `"missing": 1,`, `"name": "one"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	two.signal(syscall.SIGCONT)
	one.until("2 supervisors answered", "status", "--all")
	for _, p := range []*process{one, two} {
		p.terminate()
	}
}

// A supervisor that does not answer the roll is told by what it holds, on the command line and by the API of another; with none that
// answers it is not said that nobody works.
func TestSupervisorsThatDoNotAnswer(t *testing.T) {
	s := newScript(t, "-- a.toml --\n[supervisor]\nname = \"one\"\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"cat\"]\n"+
		"-- b.toml --\n[supervisor]\nname = \"two\"\nstate_dir = \"b\"\ndrain_timeout = \"100ms\"\n[web]\nroll_call = false\n[pools.quiet]\nqueues = [\"held\"]\ncommand = [\"tail\", \"-f\", \"/dev/null\"]\n")
	two := running(t, s, "-c", "b.toml")
	must.Do(t, s.oarlock(exitOK, s.words("put held {}")))
	text := two.until("holds a job", "status", "--all")
	s.says(t, exitOK, "status --all")
	for _, want := range []string{"No supervisor in this namespace of Redis answers", "web.roll_call = false", "two", "quiet"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	one := running(t, s, "-c", "a.toml")
	text = one.until(`"answered": 1,`, "status", "--all", "--json")
	if _, unheard, is := strings.Cut(text, `"unheard": [`); !is || !strings.Contains(unheard, `"name": "two"`) || strings.Contains(unheard, `"name": "one"`) {
		t.Errorf("who did not answer is not told as that:\n%s", text)
	}
	for _, p := range []*process{one, two} {
		p.terminate()
	}
}
