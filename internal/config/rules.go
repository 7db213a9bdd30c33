package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"oarlock/internal/rules"
)

// Rules is the table [rules].
type Rules struct {
	Revision int `toml:"revision"` // the higher one counts, where several hosts have a rule otherwise
}

// Throttle is one table [throttles.NAME]: how many jobs run at a time, or start in a time. See rules.Throttle.
type Throttle struct {
	Limit    int               `toml:"limit"` // below 1: none
	Rate     string            `toml:"rate"`  // "100/10s"; "" is any number
	Burst    int               `toml:"burst"` // 0: as many as the rate has
	Sliding  bool              `toml:"sliding"`
	Patience Duration          `toml:"patience"`
	Parked   string            `toml:"parked"` // hold or free: what a parked job does with its places
	By       string            `toml:"by"`     // a JSON pointer, $klass, $queue or $tag:PREFIX
	Shares   map[string]string `toml:"shares"`
	Others   string            `toml:"others"`
	Each     int               `toml:"each"`
	Borrow   bool              `toml:"borrow"`
	Keep     int               `toml:"keep"`

	Command   []string `toml:"command"`    // decides who may start; none: places alone do
	Timeout   Duration `toml:"timeout"`    // longest time for its answer
	Every     Duration `toml:"every"`      // shortest time between two questions
	OnFailure string   `toml:"on_failure"` // closed or open: what holds while it does not answer
}

// Window is one table [windows.NAME]: when jobs may start.
type Window struct {
	Zone    string   `toml:"zone"` // "" means UTC
	Open    []string `toml:"open"` // such as "Mon-Fri 22:00-06:00"
	Except  []string `toml:"except"`
	Margin  Duration `toml:"margin"`
	OnClose string   `toml:"on_close"` // finish or stop: what becomes of jobs that run when it shuts
}

// Klass is one table [klass.NAME]; NAME may be a glob.
type Klass struct {
	Queues    []string `toml:"queues"` // where weight, throttles, bypass and windows count
	Weight    int      `toml:"weight"`
	Throttles []string `toml:"throttles"`
	Bypass    bool     `toml:"bypass"`
	Windows   []string `toml:"windows"`

	Priority          float64 `toml:"priority"` // of those put without; 0: as any job
	Retries           int     `toml:"retries"`  // likewise
	Correlation       string  `toml:"correlation"`
	OnLiveCorrelation string  `toml:"on_live_correlation"`

	Timeout      Duration `toml:"timeout"`       // 0s: the pool's
	ParkTimeout  Duration `toml:"park_timeout"`  // 0s: 24h
	RetryCommand []string `toml:"retry_command"` // none: the pool's
	Retry        Retry    `toml:"retry"`
	OwnRetry     bool     `toml:"-"` // the file says something of Retry; else the pool's counts
}

// DefaultThrottle, DefaultWindow and DefaultKlass are tables of which nothing is said.
func DefaultThrottle() Throttle {
	usual := rules.DefaultThrottle()
	return Throttle{Patience: ofSeconds(usual.Patience), Parked: usual.Parked, Shares: map[string]string{},
		Command: []string{}, Timeout: ofSeconds(5), Every: ofSeconds(1), OnFailure: rules.OnFailures[0]}
}

// DefaultWindow is never open.
func DefaultWindow() Window {
	return Window{Open: []string{}, Except: []string{}, OnClose: rules.DefaultWindow().OnClose}
}

// DefaultKlass is as any job is.
func DefaultKlass() Klass {
	usual := rules.DefaultKlass()
	return Klass{Queues: []string{}, Weight: usual.Weight, Throttles: []string{}, Windows: []string{},
		Retries: usual.Retries, RetryCommand: []string{}, OnLiveCorrelation: usual.OnLive, Retry: DefaultPool().Retry}
}

// MostLiteral are the names of tables of classes: of those that stand for a class the first counts.
func MostLiteral(tables map[string]Klass) []string {
	return slices.SortedFunc(maps.Keys(tables), rules.MostLiteral)
}

func ofSeconds(n float64) Duration { return Duration(n * float64(time.Second)) }

func (d Duration) seconds() float64 { return time.Duration(d).Seconds() }

// RuleSet is what the tables [throttles], [windows], [queues], [klass] and [park] say for all who work these queues. Tables that
// say nothing of that are left out.
func (c Config) RuleSet() rules.Set {
	s := rules.Set{Throttles: map[string]rules.Throttle{}, Windows: map[string]rules.Window{}, Queues: map[string]rules.Queue{}, Klass: map[string]rules.Klass{}}
	for name, t := range c.Throttles {
		rule := rules.DefaultThrottle()
		rule.Limit, rule.Rate, rule.Burst, rule.Sliding, rule.Patience = t.Limit, t.Rate, t.Burst, t.Sliding, t.Patience.seconds()
		rule.Parked = t.Parked
		rule.By, rule.Shares, rule.Others, rule.Each, rule.Borrow, rule.Keep = t.By, t.Shares, t.Others, t.Each, t.Borrow, t.Keep
		if rule.Asks = len(t.Command) > 0; rule.Asks {
			rule.OnFailure = t.OnFailure
		}
		s.Throttles[name] = rule
	}
	for name, w := range c.Windows {
		rule := rules.DefaultWindow()
		rule.Zone, rule.Open, rule.Except, rule.Margin, rule.OnClose = w.Zone, w.Open, w.Except, w.Margin.seconds(), w.OnClose
		s.Windows[name] = rule
	}
	for name, q := range c.Queues {
		rule := rules.DefaultQueue()
		rule.Limit, rule.Throttles, rule.Windows = q.Limit, nonEmpty(q.Throttles), nonEmpty(q.Windows)
		rule.Priority, rule.First, rule.Slice, rule.Ageing = q.Priority, q.First, q.Slice.seconds(), q.Ageing.seconds()
		if rule.FairBy = q.FairBy; len(q.FairWeights) > 0 {
			rule.FairWeights = q.FairWeights
		}
		if !reflect.DeepEqual(rule, rules.DefaultQueue()) {
			s.Queues[name] = rule
		}
	}
	for name, k := range c.Klass {
		rule := rules.Klass{Queues: nonEmpty(k.Queues), Weight: k.Weight, Throttles: nonEmpty(k.Throttles), Bypass: k.Bypass, Windows: nonEmpty(k.Windows),
			Priority: k.Priority, Retries: k.Retries, Correlation: k.Correlation, OnLive: k.OnLiveCorrelation}
		if !reflect.DeepEqual(rule, rules.DefaultKlass()) {
			s.Klass[name] = rule
		}
	}
	s.Answers, s.Secret = c.Park.rules()
	return s
}

func nonEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// RulesFile is what the file has to say of rules, under the name of the supervisor and the path of the file.
func (c Config) RulesFile() rules.File {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		path = c.Path
	}
	return rules.File{Owner: c.Supervisor.HostName() + ":" + path, Revision: c.Rules.Revision, Set: c.RuleSet()}
}

// ruleTables checks what is said of limits, windows and order.
func (d *decoder) ruleTables(c *Config) {
	if c.Rules.Revision < 0 {
		d.bad("rules.revision", "is negative; raise it from 0")
	}
	for _, problem := range rules.Check(c.RuleSet(), Nearest) {
		d.bad(problem.Key, "%s", problem.Why)
	}
	d.values(c)
	for _, name := range slices.Sorted(maps.Keys(c.Throttles)) {
		d.decider("throttles."+name, c.Throttles[name], filepath.Dir(c.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Klass)) {
		d.klass("klass."+name, c.Klass[name])
		d.deciding("klass."+name+".retry_command", c.Klass[name].RetryCommand, filepath.Dir(c.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		d.deciding("pools."+name+".retry_command", c.Pools[name].RetryCommand, filepath.Dir(c.Path))
	}
}

// values refuses limits by a value of the data where puts merge: a job may have many of them.
func (d *decoder) values(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		q := c.Queues[name]
		if q.Merge == "none" {
			continue
		}
		throttles := slices.Clone(q.Throttles)
		for _, klass := range slices.Sorted(maps.Keys(c.Klass)) {
			if k := c.Klass[klass]; slices.Contains(k.Queues, name) && !k.Bypass {
				throttles = append(throttles, k.Throttles...)
			}
		}
		for _, throttle := range throttles {
			if by := c.Throttles[throttle].By; strings.HasPrefix(by, "/") {
				d.bad("queues."+name+".merge", "throttle %s counts by %s of the data, and a job that merges may have many; let it count by $klass, $queue or $tag:", throttle, by)
				break
			}
		}
	}
}

// decider checks what is said of the command of a throttle for those who run it, in dir.
func (d *decoder) decider(at string, t Throttle, dir string) {
	if len(t.Command) == 0 {
		for _, key := range []string{"timeout", "every", "on_failure"} {
			if d.isSet(at + "." + key) {
				d.bad(at+"."+key, "is about a command that decides; write command, or leave it out")
			}
		}
		return
	}
	d.deciding(at+".command", t.Command, dir)
	between := func(key string, n Duration, least, most time.Duration) {
		if time.Duration(n) < least || time.Duration(n) > most {
			d.bad(at+"."+key, "must be between %v and %v", Duration(least), Duration(most))
		}
	}
	between("timeout", t.Timeout, 100*time.Millisecond, time.Minute)
	between("every", t.Every, 100*time.Millisecond, time.Hour)
}

// deciding checks a command that decides something, if there is one. It is run in dir.
func (d *decoder) deciding(at string, command []string, dir string) {
	if len(command) > 0 {
		d.program(at, Pool{Command: command, Sandbox: Sandbox{Dir: dir}})
	}
}

// klass checks what is said of the jobs of a class for those who work them.
func (d *decoder) klass(at string, k Klass) {
	if d.isSet(at+".timeout") && k.Timeout == 0 {
		d.bad(at+".timeout", "must be more than zero; without it that of the pool holds")
	}
	if d.isSet(at+".park_timeout") && k.ParkTimeout == 0 {
		d.bad(at+".park_timeout", "must be more than zero; without it jobs wait for their answers for 24h")
	}
	if k.OwnRetry {
		d.retry(at+".retry", k.Retry, false)
	}
}

// UnusedThrottles tells of throttles that no queue and no class names, a sentence each.
func (c Config) UnusedThrottles() []string {
	named := make(map[string]bool)
	for _, q := range c.Queues {
		for _, name := range q.Throttles {
			named[name] = true
		}
	}
	for _, k := range c.Klass {
		for _, name := range k.Throttles {
			named[name] = true
		}
	}
	warnings := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.Throttles)) {
		if !named[name] {
			warnings = append(warnings, fmt.Sprintf("throttles.%s: no [queues] and no [klass] table names it; it counts for jobs that name it themselves, put --throttle %s, and in queues without rules only its limit does.", name, name))
		}
	}
	return warnings
}
