// Package bounds says between which values the numeric settings of the protocol are used,
// whatever somebody set. It owns that table, which Go code and scripts read alike. It reads no
// settings: it does not know Redis.
package bounds

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bound is between which values our batch commands use a setting; the protocol's own commands
// use it as it is.
type Bound struct {
	Least, Most float64
	Otherwise   float64 // counts where nothing is set, or no number
}

// table has all numeric settings; heartbeat and max-concurrency are also set for single queues,
// as <queue>-heartbeat. Times are in seconds.
var table = map[string]Bound{
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

// Of finds the bound of a setting by its name; false if it is none of those that are numbers.
func Of(name string) (Bound, bool) {
	b, ok := table[name]
	for _, setting := range ofQueues {
		if !ok && strings.HasSuffix(name, "-"+setting) {
			b, ok = table[setting], true
		}
	}
	return b, ok
}

// Use is the value that is used where the setting has the text value, and says whether that is a
// number, and whether it lies within the bounds.
func (b Bound) Use(value string) (used float64, number, within bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil && n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return b.Otherwise, false, false
	}
	used = max(b.Least, min(n, b.Most))
	return used, true, used == n
}

// inScripts are the settings that batch commands read.
var inScripts = []string{"heartbeat", "grace-period", "max-concurrency", "max-job-history", "jobs-history", "jobs-history-count", "stats-history"}

// Lua writes the bounds that batch commands need as a function of their library: no table, which each call would make anew; and each as a constant, for
// what has no functions.
func Lua() string {
	var b strings.Builder
	b.WriteString("-- bounds_of(name) -> between which values a setting is used: least, most, and what counts otherwise\nfunction bounds_of(name)\n")
	for _, name := range inScripts {
		of := table[name]
		fmt.Fprintf(&b, "  if name == '%s' then return %s, %s, %s end\n", name, number(of.Least), number(of.Most), number(of.Otherwise))
	}
	b.WriteString("end\n\n")
	for _, name := range inScripts {
		of, name := table[name], strings.ReplaceAll(name, "-", "_")
		fmt.Fprintf(&b, "least_%s = %.0f\nmost_%s = %.0f\nusual_%s = %.0f\n", name, of.Least, name, of.Most, name, of.Otherwise)
	}
	return b.String()
}

// number writes a float so that Lua reads the same double.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
