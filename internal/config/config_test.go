package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"

	"github.com/BurntSushi/toml"
)

// write puts text into a file of the test's directory and gives its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// environment is an Options.Env of those variables and no others.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

const pool = `[pools.mail]
queues = ["mail"]
command = ["sh"]
`

// The example's commented lines must be the defaults, and must be all of them.
func TestExampleShowsTheDefaults(t *testing.T) {
	example := must.Get(os.ReadFile("../../config.example.toml"))(t)
	active := regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(string(example), "$1")
	active = regexp.MustCompile(`(?m)^(min|max)_children = 0\n`).ReplaceAllString(active, "")
	path := write(t, "all.toml", active)
	got := must.Get(Load(Options{Path: path, Env: environment()}))(t)
	want := Defaults()
	p := DefaultPool()
	p.Queues, p.Command = []string{"default"}, []string{"sh", "worker.sh"}
	p.Sandbox.EnvOnly = []string{}
	p.KeepOutput = 64 << 10 // of what init writes
	p.Sandbox.Dir = filepath.Dir(path)
	want.Pools["default"] = p
	want.RedisNamed = true // the example does
	want.Path, want.Files, want.Sum = path, []string{path}, got.Sum
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the example says\n%+v\nthe code\n%+v", got, want)
	}

	plain := must.Get(Load(Options{Path: write(t, "plain.toml", string(example)), Env: environment()}))(t)
	if plain.Pools["default"].Timeout != 24*hour {
		t.Error("the example as it stands is not the defaults")
	}

	inExample := lines(string(regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(string(example), "$1")))
	var missing func(path string, table reflect.Type)
	missing = func(path string, table reflect.Type) {
		for i := range table.NumField() {
			field := table.Field(i)
			key := join(path, field.Tag.Get("toml"))
			if field.Type.Kind() == reflect.Struct && key != path+".backoff" {
				missing(key, field.Type)
			} else if _, ok := inExample[key]; !ok && field.Tag.Get("toml") != "-" && key != "pools" && field.Type.Kind() != reflect.Map {
				t.Errorf("the example lacks %s", key)
			}
		}
	}
	missing("", reflect.TypeFor[Config]())
	missing("pools.default", reflect.TypeFor[Pool]())
}

// The recurring job of the example shows the defaults, too, but for when and where.
func TestExampleShowsTheDefaultsOfRecurring(t *testing.T) {
	example := must.Get(os.ReadFile("../../config.example.toml"))(t)
	_, table, _ := strings.Cut(string(example), "# [recurring.nightly]\n")
	text := "[recurring.nightly]\n" + strings.Replace(regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(table, "$1"), "every = \"0s\"\n", "", 1)
	got := must.Get(Load(Options{Path: write(t, "recurring.toml", text), Env: environment()}))(t)
	want := DefaultRecurring()
	want.Cron, want.Queue = "0 4 * * Mon-Fri", "reports"
	if !reflect.DeepEqual(got.Recurring["nightly"], want) {
		t.Errorf("the example says\n%+v\nthe code\n%+v", got.Recurring["nightly"], want)
	}
	for i := range reflect.TypeFor[Recurring]().NumField() {
		if key := reflect.TypeFor[Recurring]().Field(i).Tag.Get("toml"); !strings.Contains(table, "\n# "+key+" = ") {
			t.Errorf("the example lacks recurring.nightly.%s", key)
		}
	}
}

// The tables of rules in the example show the defaults.
func TestExampleShowsTheDefaultsOfRules(t *testing.T) {
	example := must.Get(os.ReadFile("../../config.example.toml"))(t)
	for name, want := range map[string]any{"throttles.erp": DefaultThrottle(), "windows.night": DefaultWindow(), "queues.orders": DefaultQueue(), "klass.Pay": DefaultKlass()} {
		_, text, _ := strings.Cut(string(example), "# ["+name+"]\n")
		text, _, _ = strings.Cut(text, "\n\n")
		for i := range reflect.TypeOf(want).NumField() {
			if key := reflect.TypeOf(want).Field(i).Tag.Get("toml"); key != "-" && !strings.Contains("\n"+text, "\n# "+key+" = ") {
				t.Errorf("the example lacks %s.%s", name, key)
			}
		}
		d, c := &decoder{places: map[string]place{}, env: environment()}, Defaults()
		d.file(&c, "example", "["+name+"]\n"+regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(text, "$1"), false)
		table, key, _ := strings.Cut(name, ".")
		got := fieldsOf(reflect.ValueOf(&c).Elem())[table].MapIndex(reflect.ValueOf(key)).Interface()
		if len(d.problems) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("of %s the example says\n%+v\nthe code\n%+v\n%v", name, got, want, d.problems)
		}
	}
}

func TestProblems(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", pool + `comand = ["sh"]`, `c.toml:4: pools.mail.comand: unknown key; did you mean "command"?`},
		{"rules before all others", "[rules]\nrevision = -1", `c.toml:2: rules.revision: is negative; raise it from 0`},
		{"when to ask nobody", "[throttles.x]\nlimit = 1\nevery = '1s'", `c.toml:3: throttles.x.every: is about a command that decides; write command, or leave it out`},
		{"a planner that has no time", "[throttles.x]\ncommand = ['true']\ntimeout = '1ms'", `c.toml:3: throttles.x.timeout: must be between 100ms and 1m`},
		{"a planner that is not there", "[throttles.x]\ncommand = ['no-such-program']", `c.toml:2: throttles.x.command: there is no program "no-such-program" in PATH`},
		{"begins with what is no text", "\x04", "c.toml:1:1: TOML files cannot contain control characters: '0x04'"},
		{"unknown table", "[reddis]\nurl = 'x'\n", `c.toml:1: reddis: unknown key; did you mean "redis"?`},
		{"known elsewhere", "state_dir = '/x'", `c.toml:1: state_dir: unknown key here; it is supervisor.state_dir`},
		{"known in a subtable", pool + "umask = '027'", `c.toml:4: pools.mail.umask: unknown key here; it is pools.mail.sandbox.umask`},
		{"known far below", pool + "nofile = 9", `c.toml:4: pools.mail.nofile: unknown key here; it is pools.mail.sandbox.limits.nofile`},
		{"unlike anything", "[log]\nzzzzzz = 1\n", `c.toml:2: log.zzzzzz: unknown key; known here: attempts, format, level, redact, redact_text`},
		{"unknown in a subtable", pool + "[pools.mail.retry]\nbackof = 'linear'", `c.toml:5: pools.mail.retry.backof: unknown key; did you mean "backoff"?`},
		{"cpu of a child that works many jobs", pool + "mode = \"reuse\"\n[pools.mail.sandbox]\nlimits = { cpu = \"10s\" }", `pools.mail.sandbox.limits: cpu is counted over the life of a process`},
		{"unknown in an inline table", pool + "[pools.mail.sandbox]\nlimits = { nofiles = 1 }", `c.toml:5: pools.mail.sandbox.limits.nofiles: unknown key; did you mean "nofile"?`},
		{"a class without an end", "[klass.Pay]\ntimeout = '0s'", `c.toml:2: klass.Pay.timeout: must be more than zero; without it that of the pool holds`},
		{"a class that waits not at all", "[klass.Pay]\npark_timeout = '0s'", `c.toml:2: klass.Pay.park_timeout: must be more than zero; without it jobs wait for their answers for 24h`},
		{"a class that retries at once", "[klass.Pay.retry]\ndelay = '0s'", `c.toml:2: klass.Pay.retry.delay: must be more than zero`},
		{"a class and its waits", "[klass.Pay]\nretry = { delay = '1h', max_delay = '1m' }", `klass.Pay.retry.max_delay: is less than delay (1h)`},
		{"a class and an unknown curve", "[klass.Pay.retry]\nbackoff = 'cubic'", `klass.Pay.retry.backoff: `},
		{"a class and its correlation", "[klass.Pay]\ncorrelation = 'order_id'", `c.toml:2: klass.Pay.correlation: "order_id" is no JSON pointer`},
		{"a class and a command that is not there", "[klass.Pay]\nretry_command = ['no-such-program']", `c.toml:2: klass.Pay.retry_command: there is no program "no-such-program" in PATH`},
		{"a pool and a command that is not there", pool + "retry_command = ['./again.sh']", `c.toml:4: pools.mail.retry_command: there is no program `},
		{"a pool and a command without a name", pool + "retry_command = ['']", `c.toml:4: pools.mail.retry_command: name a program`},
		{"a list and a command", "[pools.l]\nlist = 'l'\ncommand = ['sh']\nretry_command = ['sh']", `pools.l.list: excludes retry_command`},
		{"recurs when", "[recurring.x]\nqueue = 'q'", `c.toml:1: recurring.x: when does it recur?`},
		{"recurs where", "[recurring.x]\nevery = '1m'", `recurring.x.queue: name the queue`},
		{"recurs twice", "[recurring.x]\nqueue = 'q'\nevery = '1m'\ncron = '@daily'", `c.toml:3: recurring.x.every: give either cron or every`},
		{"recurs too often", "[recurring.x]\nqueue = 'q'\nevery = '0.5s'", `c.toml:3: recurring.x.every: whole seconds`},
		{"never recurs", "[recurring.x]\nqueue = 'q'\ncron = '0 2 30 2 *'", `c.toml:3: recurring.x.cron: "0 2 30 2 *" never comes`},
		{"recurs nowhere", "[recurring.x]\nqueue = 'q'\ncron = '@daily'\nzone = 'Atlantis'", `c.toml:4: recurring.x.zone: there is no time zone "Atlantis"`},
		{"recurs by seconds", "[recurring.x]\nqueue = 'q'\ncron = '0 * * * * *'", `has 6 fields`},
		{"recurs with no JSON", "[recurring.x]\nqueue = 'q'\nevery = '1m'\ndata = 'x'", `c.toml:4: recurring.x.data: is no JSON`},
		{"recurs with a wrong word", "[recurring.x]\nqueue = 'q'\nevery = '1m'\noverlap = 'queue'", `c.toml:4: recurring.x.overlap: "queue"`},
		{"recurs under no name", "[recurring.\"a\\u0007b\"]\nqueue = 'q'\nevery = '1m'", `text that can be seen`},
		{"recurs unknown", "[recurring.x]\nqueue = 'q'\nevery = '1m'\nretrys = 1", `did you mean "retries"?`},
		{"no TOML", "[redis\nurl = 1", `c.toml:1:7: expected`},
		{"twice the same key", "[log]\nlevel = 'info'\nlevel = 'warn'", `c.toml:3:1: `},
		{"number for a duration", pool + `timeout = 90`, `c.toml:4: pools.mail.timeout: a duration is a string with a unit, such as "90s"; got the number 90`},
		{"duration without unit", pool + `timeout = "90"`, `c.toml:4: pools.mail.timeout: "90" has no unit; write "90s" for seconds`},
		{"no duration", pool + `timeout = "soon"`, `c.toml:4: pools.mail.timeout: "soon" is no duration`},
		{"negative duration", pool + `timeout = "-1s"`, `c.toml:4: pools.mail.timeout: "-1s" is negative`},
		{"endless job", pool + `timeout = "0s"`, `c.toml:4: pools.mail.timeout: must be more than zero`},
		{"size without unit", pool + `max_line = "512"`, `c.toml:4: pools.mail.max_line: "512" has no unit`},
		{"number for a size", pool + `max_line = 512`, `c.toml:4: pools.mail.max_line: a size is a string with a unit`},
		{"tiny size", pool + `max_job = "1B"`, `c.toml:4: pools.mail.max_job: must be 1KiB or more`},
		{"string for a list", "[pools.mail]\nqueues = 'mail'\ncommand = ['sh']", `c.toml:2: pools.mail.queues: must be a list, such as ["a", "b"]; got the string "mail"`},
		{"shell command", "[pools.mail]\nqueues = ['mail']\ncommand = 'sh x'", `c.toml:3: pools.mail.command: must be a list`},
		{"number in a list of strings", "[pools.mail]\nqueues = [1]\ncommand = ['sh']", `c.toml:2: pools.mail.queues: must be a string; got the number 1`},
		{"string for a number", pool + `children = "4"`, `c.toml:4: pools.mail.children: must be a whole number; got the string "4"`},
		{"string for a switch", pool + `pty = "yes"`, `c.toml:4: pools.mail.pty: must be true or false; got the string "yes"`},
		{"value for a table", "redis = 'redis://x'", `c.toml:1: redis: must be a table; got the string "redis://x"`},
		{"no queue", "[pools.mail]\ncommand = ['sh']", `c.toml:1: pools.mail.queues: name at least one queue`},
		{"no glob", "[pools.mail]\nqueues = ['']\ncommand = ['sh']", `c.toml:2: pools.mail.queues: "" is neither the name of a queue nor a glob`},
		{"no command", "[pools.mail]\nqueues = ['mail']", `c.toml:1: pools.mail.command: name a program`},
		{"no such program", "[pools.mail]\nqueues = ['mail']\ncommand = ['no-such-program']", `c.toml:3: pools.mail.command: there is no program "no-such-program" in PATH`},
		{"no such file", "[pools.mail]\nqueues = ['mail']\ncommand = ['./nothing']", `c.toml:3: pools.mail.command: there is no program `},
		{"not executable", "[pools.mail]\nqueues = ['mail']\ncommand = ['./c.toml']", `is not executable; chmod +x it`},
		{"mode", pool + `mode = "reuseed"`, `c.toml:4: pools.mail.mode: "reuseed" is none of once, reuse, preload; did you mean "reuse"?`},
		{"order", pool + `order = "random"`, `c.toml:4: pools.mail.order: "random" is none of`},
		{"pool name", "[pools.'a b']\nqueues = ['x']\ncommand = ['sh']", `c.toml:1: pools.a b: a pool's name`},
		{"children and range", pool + "children = 2\nmax_children = 3", `c.toml:4: pools.mail.children: give either`},
		{"min above max", pool + "min_children = 4\nmax_children = 3", `c.toml:4: pools.mail.min_children: must be from 0 to max_children (3)`},
		{"prefetch in once", pool + "prefetch = 4", `c.toml:4: pools.mail.prefetch: needs mode = "reuse"`},
		{"negative prefetch", pool + "mode = 'reuse'\nprefetch = -1", `c.toml:5: pools.mail.prefetch: -1 is no number of jobs from 0 to 10000; "auto" finds one`},
		{"endless prefetch", pool + "mode = 'reuse'\nprefetch = 10001", `c.toml:5: pools.mail.prefetch: 10001 is no number of jobs from 0 to 10000`},
		{"prefetch by a word", pool + "mode = 'reuse'\nprefetch = 'many'", `c.toml:5: pools.mail.prefetch: prefetch is a number of jobs, or "auto"; got the string "many"`},
		{"batch in once", pool + "batch = 100", `c.toml:4: pools.mail.batch: needs mode = "reuse" or "preload" and input = "job"`},
		{"no batch", pool + "batch = 0", `c.toml:4: pools.mail.batch: must be from 1 to 1000`},
		{"large batch", pool + "mode = 'reuse'\nbatch = 1001", `c.toml:5: pools.mail.batch: must be from 1 to 1000`},
		{"batch and prefetch", pool + "mode = 'reuse'\nbatch = 2\nprefetch = 2", `c.toml:5: pools.mail.batch: excludes prefetch`},
		{"batch of a list", "[pools.mail]\nlist = 'x'\ncommand = ['sh']\nmode = 'reuse'\nbatch = 2", `c.toml:5: pools.mail.batch: excludes list`},
		{"batch of data", pool + "mode = 'preload'\nbatch = 2\ninput = 'data'", `c.toml:5: pools.mail.batch: needs mode = "reuse" or "preload" and input = "job"`},
		{"batch_wait alone", pool + "batch_wait = '1s'", `c.toml:4: pools.mail.batch_wait: has a meaning with batch only`},
		{"long batch_wait", pool + "mode = 'reuse'\nbatch = 2\nbatch_wait = '1m'", `c.toml:6: pools.mail.batch_wait: must be from 0s to 10s`},
		{"exit in reuse", pool + "mode = 'reuse'\nstatus = 'exit'", `c.toml:5: pools.mail.status: "exit" needs mode = "once"`},
		{"no input in reuse", pool + "mode = 'reuse'\ninput = 'none'", `c.toml:5: pools.mail.input: "none" needs mode = "once"`},
		{"data in reuse", pool + "mode = 'reuse'\ninput = 'data'", `c.toml:5: pools.mail.input: "data" with mode = "reuse" tells a child no run`},
		{"strict and lines", pool + "strict = true\nstatus = 'lines'", `c.toml:4: pools.mail.strict: has no meaning with status = "lines"`},
		{"max_jobs in once", pool + "max_jobs = 10", `c.toml:4: pools.mail.max_jobs: has no meaning with mode = "once"`},
		{"exit code", pool + `exit_codes = { 300 = "fail" }`, `c.toml:4: pools.mail.exit_codes.300: an exit code is a number from 0 to 255`},
		{"what an exit code means", pool + `exit_codes = { 3 = "fial" }`, `c.toml:4: pools.mail.exit_codes.3: "fial" is none of ack, retry, fail, release, unknown; did you mean "fail"?`},
		{"backoff", pool + "[pools.mail.retry]\nbackoff = 'lineer'", `did you mean "linear"?`},
		{"backoff list", pool + "[pools.mail.retry]\nbackoff = [1, -5]", `c.toml:5: pools.mail.retry.backoff: a wait in the list is negative`},
		{"delays", pool + "[pools.mail.retry]\nmax_delay = '1s'", `c.toml:5: pools.mail.retry.max_delay: is less than delay (15s)`},
		{"user", pool + "[pools.mail.sandbox]\nuser = 'no-such-user'", `c.toml:5: pools.mail.sandbox.user: this machine has no user "no-such-user"`},
		{"umask", pool + "[pools.mail.sandbox]\numask = '999'", `c.toml:5: pools.mail.sandbox.umask: must be octal`},
		{"directory", pool + "[pools.mail.sandbox]\ndir = 'nowhere'", `c.toml:5: pools.mail.sandbox.dir: stat `},
		{"env file", pool + "[pools.mail.sandbox]\nenv_file = 'c.toml'", `c.toml:1: not of the form NAME=value`},
		{"redis scheme", "[redis]\nurl = 'http://x'", `c.toml:2: redis.url: begins with none of redis://, rediss://`},
		{"cluster", "[redis]\nurl = 'redis+cluster://a:1'", `redis.namespace: a cluster needs a hash tag`},
		{"password file", "[redis]\npassword_file = 'nowhere'", `c.toml:2: redis.password_file: `},
		{"variable", "[redis]\nnamespace = '${NOWHERE}'", `c.toml:2: redis.namespace: the environment has no NOWHERE; set it, or write ${NOWHERE:-default}`},
		{"log level", "[log]\nlevel = 'warning'", `c.toml:2: log.level: "warning" is none of debug, info, warn, error; did you mean "warn"?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "c.toml", tt.text)
			want := strings.ReplaceAll(tt.want, "c.toml:", path+":")
			_, err := Load(Options{Path: path, Env: environment()})
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	path := write(t, "c.toml", "[redis]\nurl = 3\n[pools.a]\nqueues = []\ncomand = ['sh']\ntimeout = 9\n[pools.b]\nmode = 'x'\n")
	_, err := Load(Options{Path: path, Env: environment()})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Key))
	}
	want := "2 redis.url, 3 pools.a.command, 4 pools.a.queues, 5 pools.a.comand, 6 pools.a.timeout, " +
		"7 pools.b.command, 7 pools.b.queues, 8 pools.b.mode"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestStrength(t *testing.T) {
	path := write(t, "c.toml", "[redis]\nurl = 'redis://file'\nnamespace = 'file:'\n[supervisor]\nname = 'file'\n")
	file, err := Load(Options{Path: path, Env: environment()})
	if err != nil || file.Redis.URL != "redis://file" {
		t.Errorf("file over default: %v, %v", file.Redis.URL, err)
	}
	env, err := Load(Options{Path: path, Env: environment("REDIS_URL", "redis://env", "OARLOCK_SUPERVISOR_DRAIN_TIMEOUT", "5s", "OARLOCK_REDIS_WAIT_REPLICAS", "1")})
	if err != nil || env.Redis.URL != "redis://env" || env.Supervisor.DrainTimeout != 5*second || env.Redis.WaitReplicas != 1 {
		t.Errorf("environment over file: %+v, %v", env, err)
	}
	own, err := Load(Options{Path: path, Env: environment("REDIS_URL", "redis://env", "OARLOCK_REDIS_URL", "redis://own")})
	if err != nil || own.Redis.URL != "redis://own" {
		t.Errorf("our variable over REDIS_URL: %v, %v", own.Redis.URL, err)
	}
	flag, err := Load(Options{Path: path, Set: map[string]string{"redis.url": "redis://flag"}, Env: environment("OARLOCK_REDIS_URL", "redis://own")})
	if err != nil || flag.Redis.URL != "redis://flag" || flag.Redis.Namespace != "file:" {
		t.Errorf("flag over all: %v, %v", flag.Redis, err)
	}
	_, err = Load(Options{Path: path, Env: environment("REDIS_URL", "ftp://x")})
	if err == nil || !strings.Contains(err.Error(), "environment variable REDIS_URL: redis.url: begins with none of") {
		t.Errorf("a bad variable: %v", err)
	}
}

func TestVariablesInStrings(t *testing.T) {
	path := write(t, "c.toml", `
[redis]
namespace = "${NS:-def}:${EMPTY:-x}:$${NS}:${NS%x}:$NS:${SET}"
[pools.mail]
queues = ["${QUEUE}"]
command = ["sh", "-c", "echo $${HOME}"]
sandbox.env = { WHO = "${SET}" }
`)
	c := must.Get(Load(Options{Path: path, Env: environment("EMPTY", "", "SET", "set", "QUEUE", "mail")}))(t)
	mail := c.Pools["mail"]
	got := []string{c.Redis.Namespace, mail.Queues[0], mail.Command[2], mail.Sandbox.Env["WHO"]}
	want := []string{"def:x:${NS}:${NS%x}:$NS:set", "mail", "echo ${HOME}", "set"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhereTheFileIsLookedFor(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	xdg := filepath.Join(dir, "xdg", "oarlock", "config.toml")
	must.Do(t, os.MkdirAll(filepath.Dir(xdg), 0o755))
	env := environment("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	found := func(env func(string) (string, bool)) Config {
		c := must.Get(Load(Options{Env: env}))(t)
		return c
	}
	if c := found(env); c.Path != "" && c.Path != "/etc/oarlock/config.toml" {
		t.Errorf("found %s where there is none", c.Path)
	}
	for _, path := range []string{xdg, "oarlock.toml"} { // weaker first
		must.Do(t, os.WriteFile(path, nil, 0o644))
		if c := found(env); c.Path != path || !c.Found || c.Doubts != nil {
			t.Errorf("got %s, found %t, %q; want %s", c.Path, c.Found, c.Doubts, path)
		}
	}
	if c := found(environment("OARLOCK_CONFIG", xdg)); c.Path != xdg || c.Found {
		t.Errorf("got %s, found %t", c.Path, c.Found)
	}
	if _, err := Load(Options{Path: "nowhere.toml", Env: env}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestConfD(t *testing.T) {
	path := write(t, "c.toml", pool)
	extra := filepath.Join(filepath.Dir(path), "conf.d")
	must.Do(t, os.Mkdir(extra, 0o755))
	put := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(extra, "more.toml"), []byte(text), 0o644))
	}
	put("[pools.web]\nqueues = ['web']\ncommand = ['sh']\n")
	c, err := Load(Options{Path: path, Env: environment()})
	if err != nil || len(c.Pools) != 2 || len(c.Files) != 2 {
		t.Errorf("got %v, %v", c.Pools, err)
	}
	put("[redis]\nurl = 'embedded'\n[pools.mail]\nqueues = ['web']\ncommand = ['sh']\n")
	_, err = Load(Options{Path: path, Env: environment()})
	for _, want := range []string{"more.toml:1: redis: a file in conf.d holds pools only", "more.toml:3: pools.mail: this pool is also in " + path + ":1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCredentialsOfTheServiceManager(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"redis-url": "redis://secret\n", "redis-password": "p"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := Load(Options{Path: write(t, "c.toml", ""), Env: environment("CREDENTIALS_DIRECTORY", dir)})
	if err != nil || c.Redis.URL != "redis://secret" || c.Redis.PasswordFile != filepath.Join(dir, "redis-password") {
		t.Errorf("got %+v, %v", c.Redis, err)
	}
}

// Where a pool has a PATH of its own, only its children know what is in it.
func TestAProgramInThePathOfItsPool(t *testing.T) {
	file := write(t, "env", "PATH=/opt/thumbs/bin")
	for _, own := range []string{`env = { PATH = "/opt/thumbs/bin" }`, `sandbox.env = { PATH = "/opt/thumbs/bin" }`, fmt.Sprintf("sandbox.env_file = %q", file)} {
		text := "[pools.mail]\nqueues = ['mail']\ncommand = ['no-such-program']\n" + own
		if _, err := Load(Options{Path: write(t, "c.toml", text), Env: environment()}); err != nil {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func TestWithoutPoolsTheirProgramsDoNotMatter(t *testing.T) {
	path := write(t, "c.toml", "[redis]\nnamespace = 'x:'\n[pools.a]\nqueues = ['a']\ncommand = ['no-such-program']\n")
	c, err := Load(Options{Path: path, Env: environment(), NoPools: true})
	if err != nil || c.Redis.Namespace != "x:" || len(c.Pools) != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestEnvFile(t *testing.T) {
	s := Sandbox{EnvFile: write(t, "env", "# comment\nA=1\nexport B='x y'\nC=\nD=file\n"), Env: map[string]string{"D": "table"}}
	got, err := s.Environ()
	if want := map[string]string{"A": "1", "B": "x y", "C": "", "D": "table"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestBackoffForms(t *testing.T) {
	path := write(t, "c.toml", pool+"[pools.mail.retry]\nbackoff = [1, 0.5, '2m']\n")
	c := must.Get(Load(Options{Path: path, Env: environment()}))(t)
	got := c.Pools["mail"].Retry.Backoff
	want := Backoff{List: []Duration{second, second / 2, 2 * Duration(time.Minute)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLines(t *testing.T) {
	got := lines(`# a = 1
top.level = 1 # x = 2
"quoted key" = '''
not = "a key"
'''
list = [
  "]", # ]
  { inner = 1 },
]

[ table . "sub" ]
text = "a \" # b = 1"
multi = """
x = 1 \
y = 2"""
inline = { a = { b = 2 }, c = [1, 2] }
after = 1979-05-27
[[array]]
last=1`)
	want := map[string]int{
		"top": 2, "top.level": 2, "quoted key": 3, "list": 6, "list.inner": 8, "table": 11, "table.sub": 11,
		"table.sub.text": 12, "table.sub.multi": 13, "table.sub.inline": 16, "table.sub.inline.a": 16,
		"table.sub.inline.a.b": 16, "table.sub.inline.c": 16, "table.sub.after": 17, "array": 18, "array.last": 19,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"queues", "command", "children", "max_children", "mode"}
	for word, want := range map[string]string{
		"comand": "command", "quues": "queues", "childern": "children", "maxchildren": "max_children", "xyz": "", "moed": "mode",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %s is %q, want %q", word, got, want)
		}
	}
}

func TestValuesAsTheFileSaysThem(t *testing.T) {
	for _, text := range []string{"1h", "90ms", "1m30s", "24h", "30s", "0s"} {
		var d Duration
		if err := d.fromTOML(text); err != nil || d.String() != strings.Replace(text, "90ms", "90ms", 1) {
			t.Errorf("%s became %s, %v", text, d, err)
		}
	}
	for text, want := range map[string]Size{"512MiB": 512 << 20, "1GB": 1e9, "10B": 10, "": 0} {
		var s Size
		if err := s.fromTOML(text); err != nil || s != want {
			t.Errorf("%s became %d, %v", text, s, err)
		}
	}
}

// What is wrong with one line is said in one order, whoever asks again.
func TestProblemsOfOneLine(t *testing.T) {
	path := write(t, "c.toml", "throttles.x = { each = 1, keep = 1, borrow = true, others = '1%', shares = { a = '1%' } }\nklass.K = { retries = -1, weight = 0, queues = [''], windows = ['w'] }\n")
	said := map[string]bool{}
	for range 50 {
		_, err := Load(Options{Path: path, Env: environment()})
		said[fmt.Sprint(err)] = true
	}
	if len(said) != 1 {
		t.Errorf("it is said in %d ways", len(said))
	}
}

// Every key that the decoder finds in a valid text must have a line.
func FuzzLines(f *testing.F) {
	f.Add("a = [1, {b=2}]\n[x]\ny=\"\"\"a\"\"\"")
	f.Add("[[a]]\n'b.c' = '''\n'''\nd.e = 1979-05-27 07:32:00 # x\n[f]")
	f.Fuzz(func(t *testing.T, text string) {
		var tables map[string]any
		meta, err := toml.Decode(text, &tables)
		if err != nil {
			return
		}
		found := lines(text)
		for _, key := range meta.Keys() {
			if path := strings.Join(key, "."); found[path] == 0 && !strings.Contains(text, `\`) {
				t.Errorf("no line for %q", path)
			}
		}
	})
}

// The keys that say whose word a line is.
func TestStatusOfReusedChildrenWithData(t *testing.T) {
	for status, want := range map[string]bool{"auto": false, "fd": true, "lines": true} {
		file := filepath.Join(t.TempDir(), "c.toml")
		text := fmt.Sprintf("[pools.mail]\nqueues = ['q']\ncommand = ['sh']\nmode = 'reuse'\ninput = 'data'\nstatus = %q\n", status)
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		cfg, err := Load(Options{Path: file})
		if (err == nil) != want {
			t.Errorf("status %s: %v; want it to be accepted: %v", status, err, want)
		}
		if err == nil && len(cfg.Pools["mail"].NextQueues) > 0 {
			t.Errorf("next_queues is %q where nothing names any", cfg.Pools["mail"].NextQueues)
		}
	}
}
