package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/window"
)

// Compiled is rules as the scripts read them. queue/BATCH.md says what the fields mean.
type Compiled struct {
	Queues    map[string]CompiledQueue    // those that are ruled
	Throttles map[string]CompiledThrottle // all
	Windows   map[string]CompiledWindow   // all, for jobs that name some themselves
	LowFirst  []string                    // queues whose priorities are stored negated, sorted; they need not be ruled
	Puts      *CompiledPuts               // nil if there is nothing in it
}

// CompiledPuts is the field puts of the rules: what holds for new jobs of classes. Of those that stand for a class one counts, as in
// CompiledQueue.
type CompiledPuts struct {
	Klass map[string]CompiledPut `json:"klass,omitempty"`
	Globs []CompiledPutGlob      `json:"globs,omitempty"`
}

// CompiledPut is what holds for new jobs of a class.
type CompiledPut struct {
	Priority    string   `json:"priority,omitempty"` // "" is none
	Retries     string   `json:"retries,omitempty"`  // likewise
	Correlation []string `json:"correlation,omitempty"`
	Existing    bool     `json:"existing,omitempty"` // a job that has the correlation stands for the one that is put
}

// CompiledPutGlob is a CompiledPut for the classes that a glob stands for.
type CompiledPutGlob struct {
	Glob  string      `json:"glob"`
	Klass CompiledPut `json:"klass"`
}

// CompiledQueue is the field q:<queue> of the rules.
type CompiledQueue struct {
	Shape     string                   `json:"shape"`
	Limited   bool                     `json:"limited,omitempty"`
	Throttles []string                 `json:"throttles,omitempty"`
	By        map[string][]string      `json:"by,omitempty"`
	Asks      map[string]bool          `json:"asks,omitempty"` // throttles of which a command decides
	Windows   []CompiledWindow         `json:"windows,omitempty"`
	Klass     map[string]CompiledKlass `json:"klass,omitempty"`
	Globs     []CompiledGlob           `json:"globs,omitempty"`
	Slice     float64                  `json:"slice,omitempty"`
	Ageing    float64                  `json:"ageing,omitempty"`
	Fair      string                   `json:"fair,omitempty"` // of Throttles, the one whose values take turns, and nothing else
	Weights   map[string]int           `json:"weights,omitempty"`

	Limit int `json:"-"` // of the throttle of the queue; 0 is none
}

// CompiledKlass is what holds for a class in a queue.
type CompiledKlass struct {
	Weight    int              `json:"weight"`
	Throttles []string         `json:"throttles,omitempty"`
	Bypass    bool             `json:"bypass,omitempty"`
	Windows   []CompiledWindow `json:"windows,omitempty"`
}

// CompiledGlob is a CompiledKlass for the classes that a glob stands for.
type CompiledGlob struct {
	Glob  string        `json:"glob"`
	Klass CompiledKlass `json:"klass"`
}

// CompiledWindow is a window, as jobs of a queue or class are held by it.
type CompiledWindow struct {
	Name   string  `json:"name"`
	Spec   string  `json:"spec"` // see window.Spec.Text
	Margin float64 `json:"margin,omitempty"`
	Stop   bool    `json:"stop,omitempty"`
}

// CompiledThrottle is the field t:<throttle> of the rules.
type CompiledThrottle struct {
	Limit    int                `json:"limit,omitempty"`
	Rate     []float64          `json:"rate,omitempty"` // starts, seconds, burst
	Sliding  bool               `json:"sliding,omitempty"`
	Free     bool               `json:"free,omitempty"`
	Patience float64            `json:"patience"`
	By       []string           `json:"by,omitempty"`
	Shares   map[string]float64 `json:"shares,omitempty"`
	Others   float64            `json:"others,omitempty"`
	Each     int                `json:"each,omitempty"`
	Borrow   bool               `json:"borrow,omitempty"`
	Keep     int                `json:"keep,omitempty"`
	Asks     string             `json:"asks,omitempty"` // a command decides; closed or open, while nobody can be asked
}

// OtherValues stands for all values that shares do not name, where a throttle has any.
const OtherValues = "*"

// Compile makes of rules what Redis is told. Names that nothing stands behind are throttles without a limit, or no
// windows: whoever had them took them away, and what is left still holds.
func Compile(s Set) Compiled {
	c := Compiled{Queues: map[string]CompiledQueue{}, Throttles: map[string]CompiledThrottle{}, Windows: map[string]CompiledWindow{}}
	for name, w := range s.Windows {
		c.Windows[name] = w.compile(name)
	}
	by, asks := make(map[string][]string), make(map[string]bool)
	for name, t := range s.Throttles {
		c.Throttles[name] = t.compile()
		if path := c.Throttles[name].By; path != nil {
			by[name] = path
		}
		if t.Asks {
			asks[name] = true
		}
	}
	queues := make(map[string]bool)
	for name, q := range s.Queues {
		queues[name] = q.ruled()
		if q.Priority == Priorities[1] {
			c.LowFirst = append(c.LowFirst, name)
		}
	}
	slices.Sort(c.LowFirst)
	for _, k := range s.Klass {
		for _, name := range k.Queues {
			queues[name] = queues[name] || k.gated()
		}
	}
	c.Puts = s.compilePuts()
	for name, ruled := range queues {
		if ruled {
			c.Queues[name] = s.compileQueue(name, by, asks)
		}
	}
	return c
}

// compilePuts compiles what holds for new jobs of classes: of all, for one that says nothing counts in place of a glob that does.
func (s Set) compilePuts() *CompiledPuts {
	out, says := CompiledPuts{Klass: map[string]CompiledPut{}}, false
	for _, name := range s.Classes() {
		compiled := s.Klass[name].put()
		says = says || !reflect.DeepEqual(compiled, CompiledPut{})
		if isGlob(name) {
			out.Globs = append(out.Globs, CompiledPutGlob{name, compiled})
		} else {
			out.Klass[name] = compiled
		}
	}
	if !says {
		return nil
	}
	return &out
}

func (k Klass) put() (out CompiledPut) {
	usual := DefaultKlass()
	if k.Priority != usual.Priority {
		out.Priority = strconv.FormatFloat(k.Priority, 'f', -1, 64)
	}
	if k.Retries != usual.Retries {
		out.Retries = strconv.Itoa(k.Retries)
	}
	if k.Correlation != "" {
		out.Correlation, _ = parseBy(k.Correlation) // Check has looked at it
	}
	out.Existing = k.OnLive == OnLives[1]
	return out
}

// compileQueue compiles what holds in one queue: its own rules, and those of classes.
func (s Set) compileQueue(name string, by map[string][]string, asks map[string]bool) CompiledQueue {
	q := s.Queues[name]
	out := CompiledQueue{Limited: q.Limit > 0, Limit: max(q.Limit, 0), Throttles: q.Throttles, By: by, Asks: asks, Windows: s.windows(q.Windows), Ageing: q.Ageing}
	if q.First == Firsts[1] {
		out.Slice = q.Slice
	}
	if q.FairBy != "" {
		out.Fair, out.Weights = fairThrottle(name), q.FairWeights
		out.Throttles, out.By = slices.Concat([]string{out.Fair}, q.Throttles), maps.Clone(by)
		out.By[out.Fair], _ = parseBy(q.FairBy) // Check has looked at it
	}
	for _, klass := range s.Classes() {
		k := s.Klass[klass]
		if !slices.Contains(k.Queues, name) {
			continue
		}
		compiled := CompiledKlass{k.Weight, k.Throttles, k.Bypass, s.windows(k.Windows)}
		if isGlob(klass) {
			out.Globs = append(out.Globs, CompiledGlob{klass, compiled})
			continue
		}
		if out.Klass == nil {
			out.Klass = make(map[string]CompiledKlass)
		}
		out.Klass[klass] = compiled
	}
	out.Shape = out.shape()
	return out
}

// fairThrottle is the name of the throttle that jobs of a queue with fair_by have: a place of it limits nothing, and its value says whose turn it is.
func fairThrottle(queue string) string { return "fair:" + queue }

// shape is a print of what decides which places a job needs. Where it changes, those that wait are sorted anew.
func (q CompiledQueue) shape() string {
	q.Windows, q.Slice, q.Ageing, q.Weights = nil, 0, 0, nil
	text, err := json.Marshal(q)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// MostLiteral orders names and globs: those with more bytes that stand for themselves first.
func MostLiteral(a, b string) int {
	return cmp.Or(cmp.Compare(literal(b), literal(a)), strings.Compare(a, b))
}

func (s Set) windows(names []string) (out []CompiledWindow) {
	for _, name := range names {
		if w, ok := s.Windows[name]; ok {
			out = append(out, w.compile(name))
		}
	}
	return out
}

func (w Window) compile(name string) CompiledWindow {
	return CompiledWindow{name, w.Spec().Text(), w.Margin, w.OnClose == Closings[1]}
}

// Spec is the window without what becomes of jobs at its end.
func (w Window) Spec() window.Spec { return window.Spec{Zone: w.Zone, Open: w.Open, Except: w.Except} }

func (t Throttle) compile() CompiledThrottle {
	out := CompiledThrottle{
		Limit: max(t.Limit, 0), Sliding: t.Sliding, Free: t.Parked == Parkings[1], Patience: t.Patience,
		Each: t.Each, Borrow: t.Borrow, Keep: t.Keep,
	}
	if r, err := parseRate(t.Rate); err == nil {
		burst := t.Burst
		if burst < 1 {
			burst = r.starts
		}
		out.Rate = []float64{float64(r.starts), r.period, float64(burst)}
	}
	if t.By != "" {
		out.By, _ = parseBy(t.By) // Check has looked at it
	}
	for value, text := range t.Shares {
		if share, err := parseShare(text); err == nil {
			if out.Shares == nil {
				out.Shares = make(map[string]float64)
			}
			out.Shares[value] = share
		}
	}
	out.Others, _ = parseShare(t.Others) // "" is 0
	if t.Asks {
		out.Asks = cmp.Or(t.OnFailure, OnFailures[0])
	}
	return out
}

// Caps are the most places that values of the throttle may take, of those that shares name and OtherValues, where limit
// is that of the throttle now: one at least, so that nobody is locked out. nil without shares.
func (t CompiledThrottle) Caps(limit int) map[string]int {
	if len(t.Shares) == 0 {
		return nil
	}
	caps := map[string]int{OtherValues: shareOf(t.Others, limit)}
	for value, share := range t.Shares {
		caps[value] = shareOf(share, limit)
	}
	return caps
}

// CapOf is how many places are those of a value, where limit is that of the throttle now; 0 if that is not said.
func (t CompiledThrottle) CapOf(value string, limit int) int {
	if t.Each > 0 || limit < 1 {
		return t.Each
	}
	caps := t.Caps(limit)
	if most, named := caps[value]; named {
		return most
	}
	return caps[OtherValues]
}

func shareOf(share float64, limit int) int {
	return max(1, int(math.Floor(share*float64(limit)+1e-9)))
}
