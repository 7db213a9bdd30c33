package plan

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/decider"
	"oarlock/internal/rules"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// What a configuration may say where there is a choice is what those say whom it is for.
func TestWordsOfAConfigurationAreThoseOfWhomTheyAreFor(t *testing.T) {
	for _, tt := range []struct {
		words []string
		are   []string
	}{
		{config.Modes, called(runner.Once, runner.Reuse, runner.Preload)},
		{config.Inputs, called(runner.InputJob, runner.InputData, runner.InputNone)},
		{config.Statuses, called(runner.StatusAuto, runner.StatusFD, runner.StatusLines, runner.StatusExit)},
		{config.Kills, called(runner.KillAuto, runner.KillCgroup, runner.KillGuard, runner.KillGroup)},
		{config.Orders, texts(queue.Ordered, queue.RoundRobin, queue.Shuffled, queue.Oldest)},
		{config.Misses, queue.MissedPolicies},
		{config.Overlaps, queue.OverlapPolicies},
		{config.Policies, texts(supervisor.RetryJob, supervisor.FailJob)},
		{config.Curves, texts(supervisor.Constant, supervisor.Linear, supervisor.Exponential, supervisor.Quartic)},
		{config.Exits, called(protocol.ExitAck, protocol.ExitRetry, protocol.ExitFail, protocol.ExitRelease, protocol.ExitUnknown)},
	} {
		if !slices.Equal(tt.words, tt.are) {
			t.Errorf("a configuration may say %q, and what is known is %q", tt.words, tt.are)
		}
	}
	for _, name := range config.Exits {
		if read, err := protocol.ParseExitAction(name); read.String() != name {
			t.Errorf("the exit action %q is read as %v (%v)", name, read, err)
		}
	}
	for _, name := range config.Signals {
		if drainSignal(name) == 0 {
			t.Errorf("there is no signal %q", name)
		}
	}
}

// called are the names of values.
func called[T interface{ String() string }](values ...T) (names []string) {
	for _, value := range values {
		names = append(names, value.String())
	}
	return names
}

// texts are values that are words themselves.
func texts[T ~string](values ...T) (words []string) {
	for _, value := range values {
		words = append(words, string(value))
	}
	return words
}

// A word that no validation has seen is refused, and not taken for another.
func TestAWordThatNobodyKnowsIsRefused(t *testing.T) {
	for _, word := range []func(*config.Pool) *string{
		func(p *config.Pool) *string { return &p.Mode },
		func(p *config.Pool) *string { return &p.Input },
		func(p *config.Pool) *string { return &p.Status },
		func(p *config.Pool) *string { return &p.Sandbox.Kill },
	} {
		p := config.DefaultPool()
		*word(&p) = "odd"
		if spec, err := Spec("p", p); err == nil || !strings.Contains(err.Error(), `"odd"`) {
			t.Errorf("%+v of it (%v)", spec, err)
		}
	}
}

// forOthers are the tables that no supervisor hears of.
var forOthers = map[string]string{
	"redis":        "package connect opens what it names, and has such a test of its own",
	"web":          "package service tells the page, which is none of a supervisor's",
	"metrics":      "package service tells those who count for scrapers",
	"key_from":     "it is for those who put: `oarlock put`, and the readers of lists, of which TestEntriesBecomeJobs asks it",
	"log":          "it is about the lines of the process, which makes its log of it before there is a supervisor",
	"socket":       "package service asks it when a job connects to the control socket",
	"env_from_job": "it says what the file may say in env, of which TestEnvFromJob asks it",
}

// particular are the keys for which not any other value will do.
func particular(t *testing.T) map[string]any {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("FROM_FILE=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"park.secret_file": secret,
		"hooks.events":     []string{}, "first": "time", "parked": "free", "on_failure": "open", "on_close": "stop", "priority": "low-first", "turns": "fair", "after_fail": "hold", "merge": "set", "score": "max", "order": "oldest", "mode": "reuse", "input": "data", "status": "exit", "replace": "after", "drain_signal": "USR1", "on_error": "fail", "on_crash": "fail",
		"exit_codes": map[string]string{"3": "fail"}, "retry.backoff": config.Backoff{Curve: "linear"}, "backoff": config.Backoff{Curve: "linear"}, "on_live_correlation": "existing", "fair_by": "/tenant", "fair_weights": map[string]int{"acme": 4}, "sandbox.umask": "027", "sandbox.env_file": file, "sandbox.kill": "group",
	}
}

// Whatever a file says reaches whom it is for: with another value of any key, a supervisor, or those who keep its
// recurring jobs, are told something else.
func TestNoFieldOfTheFileIsForgotten(t *testing.T) {
	cfg, pool, q, recurring := config.Defaults(), config.DefaultPool(), config.DefaultQueue(), config.DefaultRecurring()
	throttle, window, klass := config.DefaultThrottle(), config.DefaultWindow(), config.DefaultKlass()
	q.Intake, q.Order, klass.OwnRetry = []string{"l"}, "key", true
	cfg.Hooks.Events, throttle.Command = []string{"dead"}, []string{"planner"}
	cfg.Path, pool.Command, pool.List = "/etc/oarlock/config.toml", []string{"true"}, "hworker:mail"
	type told struct {
		supervisor supervisor.Config
		crons      []queue.Cron
		fleet      string
		hooks      *queue.Hooks
		rules      rules.File
		orders     queue.OrderFile
		deciders   map[string]decider.Command
	}
	tell := func() told {
		cfg.Pools, cfg.Recurring = map[string]config.Pool{"p": pool}, map[string]config.Recurring{"r": recurring}
		cfg.Queues = map[string]config.Queue{"q": q}
		cfg.Throttles, cfg.Windows = map[string]config.Throttle{"t": throttle}, map[string]config.Window{"w": window}
		cfg.Klass = map[string]config.Klass{"k": klass}
		s, err := Supervisor(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Intake {
			s.Intake[i].Read = nil // As says which it is, and functions are never equal
		}
		return told{s, Crons(cfg), Fleet(cfg), Hooks(cfg), cfg.RulesFile(), Orders(cfg), Deciders(cfg)}
	}
	usual, asked, passed := tell(), 0, map[string]bool{}
	others := particular(t)
	var each func(at string, table reflect.Value)
	each = func(at string, table reflect.Value) {
		for i := range table.NumField() {
			field, key := table.Field(i), strings.TrimPrefix(at+"."+table.Type().Field(i).Tag.Get("toml"), ".")
			other, named := others[key]
			named = named && reflect.TypeOf(other).AssignableTo(field.Type()) // tables share names
			switch {
			case forOthers[key] != "":
				passed[key] = true
				continue
			case key == "-": // of the reading, not of the file
				continue
			case field.Kind() == reflect.Map && field.Type().Elem().Kind() == reflect.Struct: // one of each is asked for its own keys
				continue
			case field.Kind() == reflect.Struct && !named:
				each(key, field)
				continue
			}
			before := reflect.ValueOf(field.Interface())
			if named {
				field.Set(reflect.ValueOf(other))
			} else {
				change(t, key, field)
			}
			asked++
			if reflect.DeepEqual(tell(), usual) {
				t.Errorf("nobody is told of %s = %v", key, field)
			}
			field.Set(before)
		}
	}
	each("", reflect.ValueOf(&cfg).Elem())
	each("", reflect.ValueOf(&pool).Elem())
	for _, table := range []any{&q, &throttle, &window, &klass} {
		each("", reflect.ValueOf(table).Elem())
	}
	each("", reflect.ValueOf(&recurring).Elem())
	if !reflect.DeepEqual(tell(), usual) || asked < 60 || len(passed) != len(forOthers) {
		t.Errorf("%d keys were changed and changed back, %v passed over", asked, passed)
	}
}

// change gives a field another value.
func change(t *testing.T, key string, field reflect.Value) {
	t.Helper()
	switch value := field.Interface().(type) {
	case config.Duration:
		field.Set(reflect.ValueOf(value + config.Duration(time.Second)))
	case string:
		field.SetString(value + "other")
	case bool:
		field.SetBool(!value)
	case float64:
		field.SetFloat(value + 0.25)
	case []string:
		field.Set(reflect.ValueOf(append(slices.Clone(value), "OTHER")))
	case map[string]string:
		field.Set(reflect.ValueOf(map[string]string{"OTHER": "1"}))
	default:
		if !field.CanInt() {
			t.Fatalf("%s is a %T: name another value", key, value)
		}
		field.SetInt(field.Int() + 1)
	}
}
