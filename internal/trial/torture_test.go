package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/must"
	"oarlock/runner"
)

// host is that of all trials: a process has one.
var host *runner.Host

func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	var err error
	if host, err = runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := host.Close(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// newTrial tries command, started in dir, with jobs of data.
func newTrial(t *testing.T, dir string, mode runner.Mode, data string, command ...string) *Trial {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Fatalf("%s not found: install it (make test does)", command[0])
	}
	return &Trial{
		Host:  host,
		Spec:  runner.Spec{Pool: "torture", Mode: mode, Command: command, Dir: dir, Env: os.Environ(), KillGrace: 3 * time.Second},
		Job:   Attempted("Count", "q", []byte(data), 1),
		Limit: 20 * time.Second,
	}
}

// broken runs a trial and lists the obligatory rules that are broken.
func broken(t *testing.T, trial *Trial) (rules []string) {
	t.Helper()
	good := must.Get(trial.Torture(context.Background(), func(f Finding) {
		t.Logf("%+v", f)
		if f.Must && !f.Kept && !f.Left {
			rules = append(rules, f.Rule)
		}
	}))(t)
	if good != (len(rules) == 0) {
		t.Errorf("it is good: %v, with broken rules %q", good, rules)
	}
	return rules
}

// Each of these programs breaks one rule, or some, and no other.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		program string
		mode    runner.Mode
		limit   time.Duration // 0: plenty
		broken  []string      // the beginnings of the rules
	}{
		{"answers.sh", runner.Reuse, 0, nil},
		{"works-and-leaves.sh", runner.Once, 0, nil},
		{"works-only-once.sh", runner.Reuse, 6 * time.Second, []string{"fed twice", "flooded"}},
		{"ignores-term.sh", runner.Reuse, time.Second, []string{"it works", "it answers whatever", "it answers a job", "fed twice", "flooded", "killed", "canceled", "told to leave"}},
		{"stays-at-the-end.sh", runner.Reuse, 0, []string{"idle"}},
		{"knows-nothing.sh", runner.Once, 0, []string{"it works", "it answers whatever", "it answers a job", "killed"}},
		{"answers-the-first.sh", runner.Reuse, 2 * time.Second, []string{"given 20 jobs"}},
		{"never-acks.sh", runner.Reuse, 0, []string{"it works", "fed twice", "killed"}},
		{"ends-at-once.sh", runner.Once, 0, []string{"it works", "killed"}},
		{"ends-at-once.sh", runner.Reuse, 0, []string{"it works", "it answers whatever", "it answers a job", "fed twice", "flooded", "killed", "canceled", "told to leave", "idle"}},
		{"dies-of-lists.sh", runner.Reuse, 0, []string{"it answers whatever"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			if testing.Short() && tt.mode == runner.Reuse && tt.program != "knows-nothing.sh" {
				t.Skip("long: a program that goes on has rules that take seconds")
			}
			t.Parallel()
			trial := newTrial(t, "testdata", tt.mode, "{}", "sh", tt.program)
			if tt.limit > 0 {
				trial.Limit, trial.Spec.KillGrace = tt.limit, tt.limit/2
			}
			got := broken(t, trial)
			if !slices.EqualFunc(got, tt.broken, strings.HasPrefix) {
				t.Errorf("broken: %q, want %q", got, tt.broken)
			}
		})
	}
}

// What is no program is told before any rule, in each mode.
func TestNoProgram(t *testing.T) {
	for _, mode := range []runner.Mode{runner.Once, runner.Reuse} {
		trial := newTrial(t, "testdata", mode, "{}", "sh")
		trial.Spec.Command = []string{"no-such-program"}
		good, err := trial.Torture(t.Context(), func(f Finding) { t.Errorf("reported %+v", f) })
		if good || !errors.Is(err, ErrNoProgram) || !strings.Contains(err.Error(), "no-such-program") {
			t.Errorf("mode %v: good: %v, err = %v", mode, good, err)
		}
	}
}

func TestLeftoversAreSeen(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, "testdata", runner.Reuse, "{}", "sh", "leaves-a-helper.sh")
	if err := leavesNothing(t.Context(), trial); err == nil || !strings.Contains(err.Error(), "still there") {
		t.Errorf("err = %v", err)
	}
}

func TestGuess(t *testing.T) {
	for program, want := range map[string]runner.Mode{"answers.sh": runner.Reuse, "works-and-leaves.sh": runner.Once} {
		if got := newTrial(t, "testdata", runner.Reuse, "{}", "sh", program).Guess(t.Context()); got != want {
			t.Errorf("%s is of mode %v, want %v", program, got, want)
		}
	}
}

// Every example, in every mode that its configuration has, keeps the rules.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every example by every rule")
	}
	files, err := filepath.Glob("../../examples/*/oarlock.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	text, err := json.Marshal(map[string]string{"order": "order-17", "text": "two lines\nof text\n", "file": filepath.Join(t.TempDir(), "lines"), "line": "one"})
	if err != nil {
		t.Fatal(err)
	}
	secrets := filepath.Join(t.TempDir(), "secrets")
	must.Do(t, os.WriteFile(secrets, []byte(strings.Repeat("5e", 32)), 0o600))
	t.Setenv("SECRETS", secrets) // of the payment
	for _, file := range files {
		cfg := must.Get(config.Load(config.Options{Path: file}))(t)
		for name, pool := range cfg.Pools {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := must.Get(filepath.Abs(filepath.Dir(file)))(t)
				mode, wrongMode := runner.ParseMode(pool.Mode)
				klass, data := "", string(text)
				switch name {
				case "payment":
					klass = "Pay"
				case "parcels":
					klass, data = "Order", `[{"count":1,"item":"lamp"}]`
				}
				trial := newTrial(t, dir, mode, data, pool.Command...)
				trial.Job.Klass = cmp.Or(klass, trial.Job.Klass)
				var wrongInput, wrongStatus error
				trial.Spec.Input, wrongInput = runner.ParseInput(pool.Input)
				trial.Spec.Status, wrongStatus = runner.ParseStatusFrom(pool.Status)
				must.Do(t, errors.Join(wrongMode, wrongInput, wrongStatus))
				trial.Spec.Env = append(trial.Spec.Env, "LETTERS="+t.TempDir(), "ASKED="+t.TempDir(), // of the scripts in wrap, the payment
					"PARCELS="+filepath.Join(t.TempDir(), "parcels")) // and the orders
				if rules := broken(t, trial); len(rules) > 0 {
					t.Errorf("broken: %q", rules)
				}
			})
		}
	}
}
