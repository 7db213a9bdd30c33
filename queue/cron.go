package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"oarlock/queue/internal/wire"
)

// Cron is a recurring job that our supervisors put, at the times of a schedule. Each run is
// an ordinary job, with the jid that RunJID says. Other clients do not see its definition.
//
// The schedule is text here; who puts the runs reckons its times.
type Cron struct {
	Name string // 1 to 200 bytes of text that can be seen
	CronWork
	Schedule string // five fields of a cron expression, or @every, @daily and the like
	Zone     string // of the time zone database; "" is UTC

	Missed  Missed  // what becomes of runs that nobody put in time
	Overlap Overlap // what becomes of one while the job of the last is not over

	// What is below is only from Cron and Crons.

	FromFile bool    // else it was made by hand
	Seen     float64 // when a supervisor that has it in its file last said so; 0 if by hand
	Paused   bool
	Next     float64 // when the next run is due, in seconds since the epoch; +Inf if never
	Pending  float64 // when a run was due that waits for the job of the last; 0 if none
	Last     float64 // when the last run that was put was due; 0 if none was
	LastJID  string
	Runs     int // that were put
	GivenUp  int // runs that were missed and not made up for
	Skipped  int // because the job of the last was not over
	MissedAt float64
	Rev      string // of the definition, for PutCron and PauseCron
	Damage   string // why it cannot be read; it puts nothing, then

	was string // prints of what it was before
}

// CronWork is what a Cron puts.
type CronWork struct {
	Queue, Klass string
	Data         []byte // JSON text; nil means {}. At most MaxCronData
	Priority     float64
	Retries      int
	Tags         []string
}

// Missed says what becomes of runs that were due while no supervisor was there.
type Missed string

const (
	RunOnce Missed = "run-once" // the last of them is put
	RunAll  Missed = "run-all"  // all of them are, the last 100 at most
	Skip    Missed = "skip"     // those are not that are more than a minute late
)

// Overlap says what becomes of a run that is due while the job of the last run is neither
// complete, failed nor gone.
type Overlap string

const (
	Allow    Overlap = "allow"     // it is put
	SkipRun  Overlap = "skip"      // it is not
	QueueOne Overlap = "queue-one" // it is put as soon as that is over; further ones are not
)

// The words that there are, the default first.
var (
	MissedPolicies  = []string{string(RunOnce), string(RunAll), string(Skip)}
	OverlapPolicies = []string{string(Allow), string(SkipRun), string(QueueOne)}
)

// MaxCronData is how much data a run may have, in bytes.
const MaxCronData = 64 << 10

// Check says what is wrong with the definition, but for schedule and zone.
func (c *Cron) Check() error {
	switch {
	case c.Name == "" || len(c.Name) > 200 || !utf8.ValidString(c.Name) || strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return fmt.Errorf("the name %.210q is not 1 to 200 bytes of text that can be seen", c.Name)
	case strings.TrimSpace(c.Queue) == "":
		return errors.New("it names no queue")
	case strings.TrimSpace(c.Klass) == "":
		return errors.New("its klass is empty")
	case len(c.Data) > MaxCronData:
		return fmt.Errorf("its data has %d bytes; %d are allowed", len(c.Data), MaxCronData)
	case c.Retries < 0:
		return fmt.Errorf("retries are %d: they cannot be less than 0", c.Retries)
	case math.IsNaN(c.Priority) || math.IsInf(c.Priority, 0):
		return fmt.Errorf("the priority is %v: it must be a finite number", c.Priority)
	case c.Missed != "" && !slices.Contains(MissedPolicies, string(c.Missed)):
		return fmt.Errorf("missed is %q; it may be %s", c.Missed, strings.Join(MissedPolicies, ", "))
	case c.Overlap != "" && !slices.Contains(OverlapPolicies, string(c.Overlap)):
		return fmt.Errorf("overlap is %q; it may be %s", c.Overlap, strings.Join(OverlapPolicies, ", "))
	}
	like := Put{Queue: c.Queue, Klass: c.Klass, Tags: c.Tags} // as its runs are
	if err := like.CheckBounds(); err != nil || c.Data == nil {
		return err
	}
	return wire.CheckEntry(c.Data)
}

// fields are the names and values of what the definition says, in a fixed order.
func (c *Cron) fields() []any {
	data := c.Data
	if data == nil {
		data = []byte("{}")
	}
	missed, overlap := c.Missed, c.Overlap
	if missed == "" {
		missed = RunOnce
	}
	if overlap == "" {
		overlap = Allow
	}
	return []any{
		"queue", c.Queue, "klass", c.Klass, "data", string(data), "priority", wire.Number(c.Priority), "retries", strconv.Itoa(c.Retries),
		"tags", string(wire.JSONList(c.Tags)), "schedule", c.Schedule, "zone", c.Zone, "missed", string(missed), "overlap", string(overlap),
	}
}

// Says is what the definition says, by the names of its fields; defaults are filled in.
func (c *Cron) Says() map[string]string {
	says, fields := map[string]string{}, c.fields()
	for i := 0; i < len(fields); i += 2 {
		says[fields[i].(string)] = fields[i+1].(string)
	}
	return says
}

// Print is short for all that the definition says: two with the same are the same.
func (c *Cron) Print() string {
	text, err := json.Marshal(c.fields())
	if err != nil {
		panic(err) // it is a list of strings
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Was reports whether the definition was once as other says, as far as is known.
func (c *Cron) Was(other Cron) bool {
	return slices.Contains(strings.Fields(c.was), other.Print())
}

// readCron understands the fields of a definition.
func readCron(name string, f, held map[string]string) Cron {
	count := func(field string) int { n, _ := strconv.Atoi(f[field]); return n }
	when := func(field string) float64 { at, _ := strconv.ParseFloat(f[field], 64); return at }
	cron := Cron{
		Name:     name,
		CronWork: CronWork{Queue: f["queue"], Klass: f["klass"], Data: []byte(f["data"]), Priority: when("priority"), Retries: count("retries")},
		Schedule: f["schedule"], Zone: f["zone"], Missed: Missed(f["missed"]), Overlap: Overlap(f["overlap"]),
		FromFile: f["source"] == "file", Paused: f["paused"] != "", Next: when("due"), Pending: when("pending"), Last: when("last"),
		was: f["was"], LastJID: f["last-jid"], Runs: count("runs"), GivenUp: count("missed-runs"), Skipped: count("skipped"), MissedAt: when("missed-at"), Rev: f["rev"],
	}
	if err := json.Unmarshal([]byte(f["tags"]), &cron.Tags); err != nil {
		cron.Damage = "its field tags is no list"
	}
	if len(cron.Tags) == 0 {
		cron.Tags = nil
	}
	if f["rev"] == "" || f["schedule"] == "" {
		cron.Damage = "its field schedule is missing"
	}
	for _, value := range held {
		at, _ := strconv.ParseFloat(strings.Fields(value + " 0")[0], 64)
		cron.Seen = max(cron.Seen, at)
	}
	return cron
}
