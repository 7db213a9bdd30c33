package ops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/config"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// KlassRule is one table of a class. What concerns those who put its jobs, and the gate, is that of the rules in Redis; what
// concerns those who work them is that of a file.
type KlassRule struct {
	Klass       string   `json:"klass"`  // a name or a glob
	Queues      []string `json:"queues"` // where weight, throttles, bypass and windows count
	Weight      int      `json:"weight"`
	Throttles   []string `json:"throttles"`
	Bypass      bool     `json:"bypass"`
	Windows     []string `json:"windows"`
	Priority    float64  `json:"priority"` // 0: that of any job
	Retries     int      `json:"retries"`
	Correlation string   `json:"correlation"` // where the data says it; "" is nowhere
	OnLive      string   `json:"on_live_correlation"`
	Owner       string   `json:"owner"` // of the above; "": they are as without a table, for there is none in Redis

	Timeout      float64     `json:"timeout,omitempty"`       // in seconds; 0: the pool's
	ParkTimeout  float64     `json:"park_timeout,omitempty"`  // in seconds; 0: 86400
	Retry        *KlassRetry `json:"retry,omitempty"`         // nil: the pool's
	RetryCommand []string    `json:"retry_command,omitempty"` // none: the pool's
}

// FileKlasses are the tables of classes of a configuration, by their names.
type FileKlasses = map[string]config.Klass

// KlassRetry is how long jobs of a class wait before they run again.
type KlassRetry struct {
	Backoff  string    `json:"backoff,omitempty"` // "" where Delays say it
	Delays   []float64 `json:"delays,omitempty"`  // in seconds, as those below
	Delay    float64   `json:"delay"`
	MaxDelay float64   `json:"max_delay"` // 0: no wait is cut
	Jitter   float64   `json:"jitter"`
}

// KlassRules lists the tables of classes, those in Redis and those of a file, the most literal first: of those that stand for a class the
// first counts.
func KlassRules(ctx context.Context, q *queue.Client, file FileKlasses) ([]KlassRule, error) {
	set, doc, err := accord.ReadSet(ctx, q)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(slices.Collect(maps.Keys(set.Klass)), slices.Collect(maps.Keys(file)))
	slices.SortFunc(names, rules.MostLiteral)
	all := []KlassRule{}
	for _, name := range slices.Compact(names) {
		k, ruled := set.Klass[name]
		if !ruled {
			k = rules.DefaultKlass()
		}
		rule := KlassRule{
			Klass: name, Queues: list(k.Queues), Weight: k.Weight, Throttles: list(k.Throttles), Bypass: k.Bypass, Windows: list(k.Windows),
			Priority: k.Priority, Retries: k.Retries, Correlation: k.Correlation, OnLive: k.OnLive, Owner: doc.Entries["klass."+name].Owner,
		}
		if own, has := file[name]; has {
			rule.Timeout, rule.ParkTimeout = time.Duration(own.Timeout).Seconds(), time.Duration(own.ParkTimeout).Seconds()
			rule.RetryCommand = own.RetryCommand
			if own.OwnRetry {
				rule.Retry = klassRetry(own.Retry)
			}
		}
		all = append(all, rule)
	}
	return all, nil
}

func klassRetry(r config.Retry) *KlassRetry {
	out := &KlassRetry{Backoff: r.Backoff.Curve, Delay: time.Duration(r.Delay).Seconds(), MaxDelay: time.Duration(r.MaxDelay).Seconds(), Jitter: r.Jitter}
	for _, wait := range r.Backoff.List {
		out.Delays = append(out.Delays, time.Duration(wait).Seconds())
	}
	return out
}

// KlassRuleOf is the table that counts for a class, of those of KlassRules.
func KlassRuleOf(ctx context.Context, q *queue.Client, file FileKlasses, klass string) (KlassRule, error) {
	all, err := KlassRules(ctx, q, file)
	if err != nil {
		return KlassRule{}, err
	}
	for _, rule := range all {
		if queue.Match(rule.Klass, klass) {
			return rule, nil
		}
	}
	return KlassRule{}, missing("no table stands for class %s: its jobs are as those of any other class", klass)
}

// AtThePut says, in a few words each, what a job of the class has whose put does not say it; nothing where that is as of any job.
func (k KlassRule) AtThePut() (words []string) {
	if k.Priority != 0 {
		words = append(words, fmt.Sprintf("priority %v", k.Priority))
	}
	if k.Retries != rules.DefaultKlass().Retries {
		words = append(words, screen.Count(k.Retries)+" retries")
	}
	if k.Correlation != "" {
		words = append(words, "correlation "+k.Correlation+" of the data")
	}
	if k.OnLive == rules.OnLives[1] {
		words = append(words, "a job that has the correlation stands for it")
	}
	return words
}

// AtWork says likewise what those who work it do otherwise than their pools say.
func (k KlassRule) AtWork() (words []string) {
	if k.Timeout > 0 {
		words = append(words, "timeout "+screen.Seconds(k.Timeout))
	}
	if k.ParkTimeout > 0 {
		words = append(words, "parked for "+screen.Seconds(k.ParkTimeout)+" at most")
	}
	if r := k.Retry; r != nil {
		rule := r.Backoff
		for _, wait := range r.Delays {
			rule += screen.Seconds(wait) + " "
		}
		if r.Backoff != "" {
			rule += " from " + screen.Seconds(r.Delay)
		}
		words = append(words, "waits "+strings.TrimSpace(rule)+" between attempts")
	}
	if len(k.RetryCommand) > 0 {
		words = append(words, "failures are decided by "+screen.Compact(k.RetryCommand))
	}
	return words
}
