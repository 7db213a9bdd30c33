package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"oarlock/internal/redisurl"
	"oarlock/internal/schedule"
	"oarlock/internal/shebang"
)

// PrivateDir is the word for a sandbox's dir that means the child's private directory.
const PrivateDir = "private"

// What the keys with a choice may say.
var (
	Wishes     = []string{"tag", "untag", "track", "untrack", "priority", "note", "cancel", "requeue"}
	Orders     = []string{"ordered", "round-robin", "shuffled", "oldest"}
	Modes      = []string{"once", "reuse", "preload"}
	Inputs     = []string{"job", "data", "none"}
	Statuses   = []string{"auto", "fd", "lines", "exit"}
	Policies   = []string{"retry", "fail"}
	Exits      = []string{"ack", "retry", "fail", "release", "unknown"}
	Replaces   = []string{"before", "after"}
	Kills      = []string{"auto", "cgroup", "guard", "group"}
	Signals    = []string{"USR1", "USR2", "HUP", "INT", "TERM", "WINCH"} // of drain_signal
	Levels     = []string{"debug", "info", "warn", "error"}
	Formats    = []string{"auto", "text", "json"}
	Attempts   = []string{"all", "bad", "none"} // of log.attempts
	Misses     = []string{"run-once", "run-all", "skip"}
	Overlaps   = []string{"allow", "skip", "queue-one"}
	Intakes    = []string{"data", "job", "hworker"}
	Turns      = []string{"oldest", "fair"}
	Events     = []string{"dead", "died"} // of hooks.events
	AfterFails = []string{"next", "hold"}
	Merges     = []string{"none", "all", "last", "first", "set"}
	Scores     = []string{"keep", "min", "max"} // of queues
)

var (
	poolName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	tracePath    = regexp.MustCompile(`^\$(\.[^.\[\]]+)+$`)
	redactPath   = regexp.MustCompile(`^\$\.\.[A-Za-z0-9_-]+$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// validate notes everything that no table may say, except about keys that could not be
// read: one problem each is enough.
func (d *decoder) validate(c *Config) {
	d.unread = map[string]bool{}
	for _, problem := range d.problems {
		d.unread[problem.Key] = true
	}
	d.redis(c.Redis)
	d.supervisor(c.Supervisor)
	d.choice("log.level", c.Log.Level, Levels)
	d.choice("log.format", c.Log.Format, Formats)
	d.choice("log.attempts", c.Log.Attempts, Attempts)
	for _, path := range c.Log.Redact {
		if !redactPath.MatchString(path) {
			d.bad("log.redact", `%q: in lines of text only names can be found: "$..password"`, path)
		}
	}
	for _, text := range c.Log.RedactText {
		if _, err := regexp.Compile(text); err != nil {
			d.bad("log.redact_text", "%q is no regular expression: %v", text, err)
		}
	}
	d.hooks(c.Hooks)
	d.web(c.Web)
	if n := c.Metrics.Queues; n < 0 || n > mostMetricQueues {
		d.bad("metrics.queues", "must be between 0 and %d: each is ten numbers in every scrape", mostMetricQueues)
	}
	d.share("tracing.begin", c.Tracing.Begin)
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		d.pool("pools."+name, name, c.Pools[name])
	}
	d.lists(c)
	d.intakes(c)
	d.park(c)
	d.ruleTables(c)
	for _, name := range slices.Sorted(maps.Keys(c.Recurring)) {
		d.recurring("recurring."+name, name, c.Recurring[name])
	}
}

func (d *decoder) choice(path, word string, allowed []string) {
	if err := OneOf(word, allowed); err != nil {
		d.bad(path, "%v", err)
	}
}

func (d *decoder) readable(path, file string) {
	if file == "" {
		return
	}
	if _, err := os.ReadFile(file); err != nil {
		d.bad(path, "%v", err)
	}
}

// password checks the file of the password. One that is not there may be yet to come: whoever
// hands out secrets may be later than we are.
func (d *decoder) password(file string) {
	if file != "" && !exists(file) {
		d.note("redis.password_file", fmt.Sprintf("%s is not there yet; write the password into it", file), true)
		return
	}
	if file == "" {
		return
	}
	if text, err := os.ReadFile(file); err != nil {
		d.bad("redis.password_file", "%v", err)
	} else if strings.TrimRight(string(text), " \t\r\n") == "" {
		d.note("redis.password_file", fmt.Sprintf("%s is empty; write the password into it", file), true)
	}
}

// authority checks a file of certificates that may sign others.
func (d *decoder) authority(path, file string) {
	if file == "" {
		return
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		d.bad(path, "%v", err)
	} else if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		d.bad(path, "%s holds no PEM certificate", file)
	}
}

// clientPair checks the certificate and the key by which Redis knows us.
func (d *decoder) clientPair(cert, key string) {
	if (cert == "") != (key == "") {
		d.bad("redis.tls_cert", "tls_cert and tls_key go together")
		return
	}
	before := len(d.problems)
	d.readable("redis.tls_cert", cert)
	d.readable("redis.tls_key", key)
	if cert == "" || len(d.problems) > before {
		return
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		d.bad("redis.tls_cert", "tls_cert and tls_key are not a pair: %v", err)
	}
}

func (d *decoder) redis(r Redis) {
	if r.URL != "embedded" {
		at, err := redisurl.Parse(r.URL)
		switch {
		case err != nil && !strings.Contains(r.URL, "://"):
			d.bad("redis.url", `%v, or "embedded"`, err)
		case err != nil:
			d.bad("redis.url", "%v", err)
		case at.Cluster && redisurl.HashTag(r.Namespace) == "":
			d.bad("redis.namespace", `a cluster needs a hash tag, so that all keys live in one slot: "{ql}:"`)
		}
	}
	if r.Namespace == "" {
		d.bad("redis.namespace", `is empty; the usual one is "ql:"`)
	}
	d.password(r.PasswordFile)
	d.authority("redis.tls_ca", r.TLSCA)
	d.clientPair(r.TLSCert, r.TLSKey)
	if r.WaitReplicas < 0 {
		d.bad("redis.wait_replicas", "is negative")
	}
}

func (d *decoder) supervisor(s Supervisor) {
	if strings.ContainsAny(s.Name, " \t\n,") {
		d.bad("supervisor.name", "has a blank or a comma in it; it becomes part of the workers' names")
	}
	if s.PollInterval < second/100 {
		d.bad("supervisor.poll_interval", "must be 10ms or more")
	}
}

func (d *decoder) hooks(h Hooks) {
	for _, event := range h.Events {
		d.choice("hooks.events", event, Events)
	}
	d.globs("hooks.queues", h.Queues)
	if strings.TrimSpace(h.Queue) == "" || strings.ContainsRune(h.Queue, 0) {
		d.bad("hooks.queue", `name the queue, such as queue = "oarlock-hooks"`)
	}
}

// maxData is the data of a recurring job, in bytes.
const maxData = 64 << 10

func (d *decoder) recurring(at, name string, r Recurring) {
	if name == "" || len(name) > 200 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		d.bad(at, "the name of a recurring job is 1 to 200 bytes of text that can be seen")
	}
	switch {
	case r.Cron != "" && r.Every > 0:
		d.bad(at+".every", "give either cron or every")
	case d.isSet(at+".every") && r.Every < second, r.Every%second != 0:
		d.bad(at+".every", "whole seconds are wanted, one at least")
	case r.Schedule() == "":
		d.bad(at, `when does it recur? Add cron = "0 4 * * Mon-Fri", or every = "10m"`)
	default:
		if _, err := schedule.Parse(r.Schedule(), ""); err != nil {
			d.bad(at+".cron", "%v", err)
		} else if _, err := schedule.Parse(r.Schedule(), r.Zone); err != nil {
			d.bad(at+".zone", "%v", err)
		}
	}
	if strings.TrimSpace(r.Queue) == "" {
		d.bad(at+".queue", `name the queue, such as queue = "reports"`)
	}
	if strings.TrimSpace(r.Klass) == "" {
		d.bad(at+".klass", "is empty")
	}
	if !json.Valid([]byte(r.Data)) || !utf8.ValidString(r.Data) {
		d.bad(at+".data", `is no JSON; write it as text, such as data = '{"full": true}'`)
	}
	if len(r.Data) > maxData {
		d.bad(at+".data", "has %d bytes; %d are allowed", len(r.Data), maxData)
	}
	if math.IsNaN(r.Priority) || math.IsInf(r.Priority, 0) {
		d.bad(at+".priority", "must be a finite number")
	}
	if r.Retries < 0 {
		d.bad(at+".retries", "is negative")
	}
	d.choice(at+".missed", r.Missed, Misses)
	d.choice(at+".overlap", r.Overlap, Overlaps)
}

func (d *decoder) pool(at, name string, p Pool) {
	if !poolName.MatchString(name) {
		d.bad(at, "a pool's name is made of letters, digits, - and _")
	}
	if p.List == "" && len(p.Queues) == 0 {
		d.bad(at+".queues", `name at least one queue, such as queues = ["mail"]`)
	}
	d.globs(at+".queues", p.Queues)
	d.list(at, p)
	d.globs(at+".next_queues", p.NextQueues)
	for _, verb := range p.Allow {
		d.choice(at+".allow", verb, Wishes)
	}
	d.choice(at+".order", p.Order, Orders)
	d.choice(at+".mode", p.Mode, Modes)
	d.choice(at+".input", p.Input, Inputs)
	d.choice(at+".replace", p.Replace, Replaces)
	d.choice(at+".status", p.Status, Statuses)
	if p.DrainSignal != "" {
		d.choice(at+".drain_signal", p.DrainSignal, Signals)
	}
	d.choice(at+".on_error", p.OnError, Policies)
	d.choice(at+".on_crash", p.OnCrash, Policies)
	d.children(at, p)
	d.conversation(at, p)

	if p.TracePath != "" && !tracePath.MatchString(p.TracePath) {
		d.bad(at+".trace_path", `%q is no way to a member of the data, such as "$.meta.traceparent"`, p.TracePath)
	}
	for code, what := range p.ExitCodes {
		if n, err := strconv.Atoi(code); err != nil || n < 0 || n > 255 {
			d.bad(at+".exit_codes."+code, "an exit code is a number from 0 to 255")
		}
		d.choice(at+".exit_codes."+code, what, Exits)
	}
	d.amounts(at, p)
	d.sandbox(at+".sandbox", p.Sandbox)
	d.program(at+".command", p)
	d.placeholders(at, p)
}

// amounts checks the times, sizes, counts and shares of a pool, each by itself.
func (d *decoder) amounts(at string, p Pool) {
	if p.Timeout <= 0 {
		d.bad(at+".timeout", "must be more than zero; a job without an end never frees its child")
	}
	if p.StartTimeout <= 0 {
		d.bad(at+".start_timeout", "must be more than zero")
	}
	if p.MaxLine < 1<<10 {
		d.bad(at+".max_line", "must be 1KiB or more")
	}
	if p.MaxJob < 1<<10 {
		d.bad(at+".max_job", "must be 1KiB or more")
	}
	if p.KeepOutput != 0 && (p.KeepOutput < 1<<10 || p.KeepOutput > 8<<20) {
		d.bad(at+".keep_output", "must be from 1KiB to 8MiB, or empty: nothing is kept")
	}
	for key, n := range map[string]int{"log_rate": p.LogRate, "max_crashes": p.MaxCrashes, "max_jobs": p.MaxJobs, "sandbox.keep_failed": p.Sandbox.KeepFailed} {
		if n < 0 {
			d.bad(at+"."+key, "is negative")
		}
	}
	d.share(at+".jitter", p.Jitter)
	d.retry(at+".retry", p.Retry, p.List != "")
}

// retry checks how long jobs wait; at once is for lists only.
func (d *decoder) retry(at string, r Retry, list bool) {
	d.share(at+".jitter", r.Jitter)
	if r.Delay <= 0 && (!list || r.Delay < 0) {
		d.bad(at+".delay", "must be more than zero")
	}
	if r.MaxDelay != 0 && r.MaxDelay < r.Delay {
		d.bad(at+".max_delay", "is less than delay (%v)", r.Delay)
	}
}

func (d *decoder) share(path string, share float64) {
	if !(share >= 0 && share <= 1) { // nor nan
		d.bad(path, "is a share from 0 to 1")
	}
}

func (d *decoder) globs(path string, globs []string) {
	for _, glob := range globs {
		if glob == "" {
			d.bad(path, `"" is neither the name of a queue nor a glob`)
		}
	}
}

// children checks the three keys that say how many.
func (d *decoder) children(at string, p Pool) {
	ranged := d.isSet(at+".min_children") || d.isSet(at+".max_children")
	switch {
	case ranged && d.isSet(at+".children"):
		d.bad(at+".children", "give either children or min_children and max_children")
	case ranged && p.MaxChildren < 1:
		d.bad(at+".max_children", "must be 1 or more")
	case ranged && (p.MinChildren < 0 || p.MinChildren > p.MaxChildren):
		d.bad(at+".min_children", "must be from 0 to max_children (%d)", p.MaxChildren)
	case !ranged && p.Children < 1:
		d.bad(at+".children", "must be 1 or more")
	}
}

// batch checks the keys about messages of several jobs.
func (d *decoder) batch(at string, p Pool) {
	wait := p.BatchWait
	if p.Batch < 1 || p.Batch > MaxBatch {
		d.bad(at+".batch", "must be from 1 to %d", MaxBatch)
	}
	switch {
	case wait < 0 || wait > longestBatchWait:
		d.bad(at+".batch_wait", "must be from 0s to %v: jobs that wait for others are locked", longestBatchWait)
	case wait > 0 && p.Batch == 1:
		d.bad(at+".batch_wait", "has a meaning with batch only, such as batch = 100")
	}
	if p.Batch <= 1 {
		return
	}
	if p.Mode == "once" || p.Input != "job" {
		d.bad(at+".batch", `needs mode = "reuse" or "preload" and input = "job": several jobs come in one line of the protocol`)
	}
	if p.Prefetch > 0 {
		d.bad(at+".batch", "excludes prefetch: a child has one message at a time")
	}
	if p.List != "" {
		d.bad(at+".batch", "excludes list: the entries of a list are worked one by one")
	}
}

// MaxBatch is how many jobs a message may bring at most.
const MaxBatch = 1000

// longestBatchWait is how long a message may wait for more jobs.
const longestBatchWait = 10 * second

// conversation checks the keys that only make sense together with a mode.
func (d *decoder) conversation(at string, p Pool) {
	if p.Prefetch > 0 && p.Mode != "reuse" {
		d.bad(at+".prefetch", `needs mode = "reuse": only a child that works many jobs can have one waiting`)
	}
	d.batch(at, p)
	if p.Mode != "once" {
		if p.Status == "exit" {
			d.bad(at+".status", `"exit" needs mode = "once": a child that lives on has no exit code to look at`)
		}
		if p.Input == "none" {
			d.bad(at+".input", `"none" needs mode = "once": a child that lives on learns of a job from its line`)
		}
	}
	if p.Mode == "reuse" && p.Sandbox.Limits.CPU > 0 {
		d.bad(at+".sandbox.limits", `cpu is counted over the life of a process: with mode = "reuse" it would end whatever job comes last; use timeout, or max_jobs and max_age, or another mode`)
	}
	if p.Mode == "reuse" && p.Input == "data" && p.Status == "auto" {
		d.bad(at+".input", `"data" with mode = "reuse" tells a child no run that its verdicts could name: let it write them to the descriptor OARLOCK_STATUS_FD and say status = "fd"; or, if it prints nothing that others wrote, status = "lines"`)
	}
	if p.Strict && (p.Status == "exit" || p.Status == "lines") {
		d.bad(at+".strict", `has no meaning with status = %q`, p.Status)
	}
	for key, set := range map[string]bool{
		"max_jobs": p.MaxJobs > 0, "max_age": p.MaxAge > 0, "idle_timeout": p.IdleTimeout > 0,
	} {
		if set && p.Mode == "once" {
			d.bad(at+"."+key, `has no meaning with mode = "once": every job has a child of its own`)
		}
	}
}

func (d *decoder) sandbox(at string, s Sandbox) {
	if s.Dir != PrivateDir {
		if info, err := os.Stat(s.Dir); err != nil {
			d.bad(at+".dir", "%v", err)
		} else if !info.IsDir() {
			d.bad(at+".dir", "%s is not a directory", s.Dir)
		}
	} else if !s.PrivateDir {
		d.bad(at+".dir", `"private" needs private_dir = true`)
	}
	if s.User != "" {
		if _, err := user.Lookup(s.User); err != nil && !isNumber(s.User) {
			d.bad(at+".user", "this machine has no user %q", s.User)
		}
	}
	if s.Group != "" {
		if _, err := user.LookupGroup(s.Group); err != nil && !isNumber(s.Group) {
			d.bad(at+".group", "this machine has no group %q", s.Group)
		}
	}
	if s.Umask != "" {
		if _, err := strconv.ParseUint(s.Umask, 8, 9); err != nil {
			d.bad(at+".umask", `must be octal, such as "027"`)
		}
	}
	if s.Nice < -20 || s.Nice > 19 {
		d.bad(at+".nice", "must be from -20 to 19")
	}
	if s.OOMScoreAdj < -1000 || s.OOMScoreAdj > 1000 {
		d.bad(at+".oom_score_adj", "must be from -1000 to 1000")
	}
	d.choice(at+".kill", s.Kill, Kills)
	for name := range s.Env {
		if !variableName.MatchString(name) {
			d.bad(at+".env."+name, "is no name of a variable")
		}
	}
	if _, err := s.Environ(); err != nil {
		d.bad(at+".env_file", "%v", err)
	}
	if s.Limits.NoFile < 0 {
		d.bad(at+".limits.nofile", "is negative")
	}
	if s.Limits.Core < 0 {
		d.bad(at+".limits.core", "is negative")
	}
}

// program checks that the command can be started, as far as we can see from here.
func (d *decoder) program(at string, p Pool) {
	if len(p.Command) == 0 || p.Command[0] == "" {
		d.bad(at, `name a program, such as ["python3", "worker.py"]`)
		return
	}
	name := p.Command[0]
	env, _ := p.Sandbox.Environ()
	ownPath := env["PATH"] != "" || p.Env["PATH"] != "" // only the child will know what is in it
	if !strings.Contains(name, "/") {
		if ownPath {
			return
		}
		if _, err := exec.LookPath(name); err != nil {
			d.bad(at, "there is no program %q in PATH", name)
		}
		return
	}
	file := name
	if !path.IsAbs(file) {
		if p.Sandbox.Dir == PrivateDir {
			d.bad(at, "%q starts from the private directory, which is empty; give an absolute path", name)
			return
		}
		file = filepath.Join(p.Sandbox.Dir, file)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil && Passes(err):
		d.bad(at, "%v", err)
	case err != nil:
		d.bad(at, "there is no program %s", file)
	case info.IsDir():
		d.bad(at, "%s is a directory", file)
	case info.Mode()&0o111 == 0:
		d.bad(at, "%s is not executable; chmod +x it, or name its interpreter first", file)
	case info.Mode().IsRegular():
		if why := shebang.Trouble(file, p.Sandbox.Dir); why != "" {
			d.bad(at, "cannot run %s: %s", file, why)
		} else if sought := shebang.OfEnv(file); sought != "" && !ownPath {
			if _, err := exec.LookPath(sought); err != nil {
				d.bad(at, "cannot run %s: its first line has env look for %q, which is not in PATH", file, sought)
			}
		}
	}
}

// Environ gives what env and env_file add to a child's environment; env is stronger.
func (s Sandbox) Environ() (map[string]string, error) {
	all := map[string]string{}
	if s.EnvFile != "" {
		text, err := os.ReadFile(s.EnvFile)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
			if !ok || !variableName.MatchString(name) {
				return nil, fmt.Errorf("%s:%d: not of the form NAME=value", s.EnvFile, n)
			}
			if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
				value = value[1 : len(value)-1]
			}
			all[name] = value
		}
	}
	maps.Copy(all, s.Env)
	return all, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}
