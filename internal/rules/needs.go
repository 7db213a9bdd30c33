package rules

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/glob"
	"oarlock/internal/window"
)

// Job is what rules ask of a job.
type Job struct {
	Queue, Klass string
	Data         []byte // JSON
	Tags         []string
	Throttles    []string // that it names itself

	// What it says itself, in place of what is said of its class: see queue.Wanted.
	Weight  int
	Bypass  bool
	Windows []string
}

// Needs is what a job must pass to run. See lua/lib/gate.lua, which is asked when it does.
type Needs struct {
	Ruled   bool
	Klass   string // the table that counts for its class; "" if there is none
	Bypass  bool
	Weight  int
	Windows []string // names, or a spec of the job's own; it starts in any of them; none: always. See Set.Window
	Places  []Place  // of each Weight, in the order in which they are asked for
	Order   Queue

	FairBy, Value string // by what its queue is fair, and in the turn of which value it starts; "" if it is not, and of a job that takes no turn
}

// Place is a throttle of which a job needs places.
type Place struct {
	ID       string `json:"throttle"`        // as of reqless; of a value with that
	Throttle string `json:"rule,omitempty"`  // the table; "" of the queue's own limit, and of what has none
	Value    string `json:"value,omitempty"` // of the job, where the throttle has values
	Base     bool   `json:"-"`               // it is the throttle of all values
}

// Needs tells what a job needs, by these rules.
func (s Set) Needs(job Job) Needs {
	compiled := Compile(s)
	q, ruled := compiled.Queues[job.Queue]
	n := Needs{Ruled: ruled, Weight: 1, Order: DefaultQueue()}
	if rule, ok := s.Queues[job.Queue]; ok {
		n.Order = rule
	}
	if !ruled {
		for _, id := range job.Throttles {
			n.Places = append(n.Places, Place{ID: id})
		}
		return n
	}
	k, name := q.klass(job.Klass)
	n.Klass, n.Bypass, n.Weight = name, k.Bypass || job.Bypass, max(1, cmp.Or(job.Weight, k.Weight))
	n.Windows = s.windowsOf(job, q, k)
	if n.Bypass {
		return n
	}
	n.FairBy, _ = s.FairBy(job.Queue)
	if n.FairBy != "" {
		fair := q.Fair
		if fair == "" {
			fair = q.Throttles[slices.IndexFunc(q.Throttles, func(id string) bool { return q.By[id] != nil })]
		}
		n.Value = compiled.Throttles[fair].value(q.By[fair], job)
	}
	for _, id := range unique(slices.Concat(job.Throttles, k.Throttles, q.Throttles)) {
		if id == q.Fair && id != "" {
			continue
		}
		rule := id
		if _, ok := s.Throttles[id]; !ok {
			rule = ""
		}
		if by := q.By[id]; by != nil {
			value := compiled.Throttles[id].value(by, job)
			n.Places = append(n.Places, Place{id + "=" + value, rule, value, false}, Place{id, rule, value, true})
		} else {
			n.Places = append(n.Places, Place{ID: id, Throttle: rule})
		}
	}
	return n
}

// Concerning returns the rules that concern a job: those of its queue, of its class, and the throttles and windows that these or the job name.
func (s Set) Concerning(job Job) Set {
	out := Set{Throttles: map[string]Throttle{}, Windows: map[string]Window{}, Queues: map[string]Queue{}, Klass: map[string]Klass{}}
	throttles, windows := slices.Clone(job.Throttles), slices.Clone(job.Windows)
	if q, ok := s.Queues[job.Queue]; ok {
		out.Queues[job.Queue] = q
		throttles, windows = append(throttles, q.Throttles...), append(windows, q.Windows...)
	}
	put, gated := false, false // whether the class that counts for puts, and the one that counts in this queue, was found
	for _, name := range s.Classes() {
		if name != job.Klass && !(isGlob(name) && glob.Match(name, job.Klass)) {
			continue
		}
		k, here := s.Klass[name], slices.Contains(s.Klass[name].Queues, job.Queue)
		if here && !gated {
			throttles, windows = append(throttles, k.Throttles...), append(windows, k.Windows...)
		}
		if here && !gated || !put && !reflect.DeepEqual(k.put(), CompiledPut{}) {
			out.Klass[name] = k
		}
		put, gated = true, gated || here
	}
	for _, name := range throttles {
		if t, ok := s.Throttles[name]; ok {
			out.Throttles[name] = t
		}
	}
	for _, name := range windows {
		if w, ok := s.Windows[name]; ok {
			out.Windows[name] = w
		}
	}
	return out
}

// windowsOf are those that count for a job: its own, if there are any still, or those of its class, or of its queue.
func (s Set) windowsOf(job Job, q CompiledQueue, k CompiledKlass) (names []string) {
	for _, text := range job.Windows {
		if _, ok := s.Window(text); ok {
			names = append(names, text)
		}
	}
	if len(names) > 0 {
		return names
	}
	windows := q.Windows
	if len(k.Windows) > 0 {
		windows = k.Windows
	}
	for _, w := range windows {
		names = append(names, w.Name)
	}
	return names
}

// Window is the window of that name, or the one whose spec text is, as a job has it of its own: zone|span|span.
func (s Set) Window(text string) (Window, bool) {
	if w, ok := s.Windows[text]; ok || !strings.Contains(text, "|") {
		return w, ok
	}
	spec := window.ReadText(text)
	return Window{Zone: spec.Zone, Open: spec.Open, Except: spec.Except}, true
}

// klass returns what holds for a class, and the table that says so.
func (q CompiledQueue) klass(name string) (CompiledKlass, string) {
	if k, ok := q.Klass[name]; ok {
		return k, name
	}
	for _, g := range q.Globs {
		if glob.Match(g.Glob, name) {
			return g.Klass, g.Glob
		}
	}
	return CompiledKlass{}, ""
}

func unique(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// longestValue is how many bytes of a value stand in names of keys as they are.
const longestValue = 64

// MostData is how much data of a job is looked into for its value, in bytes.
const MostData = 64 << 10

// value is that of a job, as it stands in the name of its throttle.
func (t CompiledThrottle) value(by []string, job Job) string {
	value := found(by, job)
	if len(t.Shares) > 0 {
		if _, named := t.Shares[value]; !named {
			return OtherValues
		}
	}
	if len(value) > longestValue || isPart(value) {
		sum := sha1.Sum([]byte(value))
		return value[:min(24, len(value))] + hex.EncodeToString(sum[:])
	}
	return value
}

// found looks for a value; "-" stands for none.
func found(by []string, job Job) string {
	switch by[0] {
	case "klass":
		return job.Klass
	case "queue":
		return job.Queue
	case "tag":
		for _, tag := range job.Tags {
			if rest, ok := strings.CutPrefix(tag, by[1]); ok {
				return rest
			}
		}
		return "-"
	}
	var data any
	if len(job.Data) > MostData || json.Unmarshal(job.Data, &data) != nil {
		return "-"
	}
	for _, member := range by[1:] {
		switch in := data.(type) {
		case map[string]any:
			data = in[member]
		case []any:
			i, err := strconv.ParseUint(member, 10, 31)
			if err != nil || int(i) >= len(in) {
				return "-"
			}
			data = in[i]
		default:
			return "-"
		}
	}
	switch value := data.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return fmt.Sprintf("%.14g", value)
	}
	return "-"
}
