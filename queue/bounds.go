package queue

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// bound says between which values our batch commands use a numeric setting of the
// protocol, whatever somebody set; the protocol's own commands use it as it is.
type bound struct {
	least, most float64
	otherwise   float64 // counts where nothing is set, or no number
}

// bounds are those of all numeric settings; heartbeat and max-concurrency are also set for
// single queues, as <queue>-heartbeat. Times are in seconds. It is written into the scripts, too.
var bounds = map[string]bound{
	"heartbeat":          {1, 30 * 86400, 60},
	"grace-period":       {0, 30 * 86400, 10},
	"max-concurrency":    {0, 1e9, 0},
	"max-job-history":    {0, 1e9, 100},
	"jobs-history":       {0, 1e12, 604800},
	"jobs-history-count": {0, 1e12, 50000},
	"max-worker-age":     {1, 1e12, 86400},
	"stats-history":      {0, 1e12, 30},
	"histogram-history":  {0, 1e12, 7},
	"max-pop-retry":      {0, 1e9, 1},
}

// ofQueues are the settings that may have the name of a queue and a dash in front.
var ofQueues = []string{"heartbeat", "max-concurrency"}

// boundOf finds the bound of a setting by its name.
func boundOf(name string) (bound, bool) {
	b, ok := bounds[name]
	for _, setting := range ofQueues {
		if !ok && strings.HasSuffix(name, "-"+setting) {
			b, ok = bounds[setting], true
		}
	}
	return b, ok
}

// luaBounds writes the bounds that batch commands need as a value of the library.
func luaBounds() string {
	var b strings.Builder
	b.WriteString("-- Between which values settings are used: least, most, and what counts otherwise.\nbounds = {\n")
	for _, name := range []string{"heartbeat", "grace-period", "max-concurrency", "max-job-history", "jobs-history", "jobs-history-count", "stats-history"} {
		of := bounds[name]
		fmt.Fprintf(&b, "  ['%s'] = { %s, %s, %s },\n", name, number(of.least), number(of.most), number(of.otherwise))
	}
	b.WriteString("}\n")
	return b.String()
}

// of is the value that is used where a setting has the text value.
func (b bound) of(value string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil && n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return b.otherwise
	}
	return max(b.least, min(n, b.most))
}

// bounded is the value of the first of several settings that is set, within the bounds of name.
func (c *Client) bounded(ctx context.Context, name string, settings ...string) (float64, error) {
	b := bounds[name]
	set, err := c.redis.HMGet(ctx, c.ns+"config", settings...).Result()
	if err := harmless(classify("hmget", err)); err != nil && Class(err) != Refused {
		return 0, err
	}
	for _, value := range set {
		if text, ok := value.(string); ok {
			return b.of(text), nil
		}
	}
	return b.otherwise, nil
}

// CheckSetting says what is wrong with the value of a setting, and what is used in its
// place, as a *SettingError; nil if nothing is, or if the setting is none of those that are numbers.
func CheckSetting(name, value string) error {
	b, ok := boundOf(name)
	if !ok {
		return nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch {
	case err != nil && n == 0, math.IsNaN(n), math.IsInf(n, 0):
		return &SettingError{name, value, b.least, b.most, b.otherwise, false}
	case n < b.least, n > b.most:
		return &SettingError{name, value, b.least, b.most, max(b.least, min(n, b.most)), true}
	}
	return nil
}

// SettingError says of a setting that its value cannot be used as it is, and what is.
type SettingError struct {
	Name, Value string
	Least, Most float64 // between which it must be
	Used        float64 // in its place
	Number      bool    // Value is a number
}

// Error speaks of a setting that is in Redis.
func (e *SettingError) Error() string {
	if !e.Number {
		return fmt.Sprintf("%s is %.40q, no number; %s is used", e.Name, e.Value, plain(e.Used))
	}
	return fmt.Sprintf("%s is %.40s, and must be from %s to %s; %s is used", e.Name, e.Value, plain(e.Least), plain(e.Most), plain(e.Used))
}

// Refusal speaks of one that is not to get there.
func (e *SettingError) Refusal() string {
	return fmt.Sprintf("%s must be a number from %s to %s, and is not to be %.40q; our supervisors would use %s, and other clients the value as it is.",
		e.Name, plain(e.Least), plain(e.Most), e.Value, plain(e.Used))
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// OddSettings reads all settings and says of each that cannot be used as it is what is used in
// its place, sorted by name.
func (c *Client) OddSettings(ctx context.Context) ([]error, error) {
	set, err := c.redis.HGetAll(ctx, c.ns+"config").Result()
	if err != nil {
		return nil, harmless(classify("hgetall", err))
	}
	var odd []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if err := CheckSetting(name, set[name]); err != nil {
			odd = append(odd, err)
		}
	}
	return odd, nil
}
