package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

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

// CronLease is how long a supervisor counts as there that said nothing more.
const CronLease = time.Minute

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
	case c.Data != nil:
		return wire.CheckJSON(c.Data)
	}
	return nil
}

// RunJID is the jid of the run that is due at a time: NAME@2026-11-22T03:00:00Z.
func RunJID(name string, due time.Time) string {
	return name + "@" + due.UTC().Format(time.RFC3339)
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

// CronHolder is a supervisor that has recurring jobs in its file.
type CronHolder struct {
	Fleet    string // the name of all that share the file
	Instance string // of this one, in this life; without blanks
}

// AnyRev stands for the Rev of whatever is there.
const AnyRev = "*"

// PutCron makes a recurring job, or replaces the definition of one, the next run of which is
// due at next. rev is that of the one that the caller has seen, "" for none, or AnyRev; it
// returns false if that is not what is there. The zero holder makes it by hand.
func (c *Client) PutCron(ctx context.Context, cron Cron, rev string, next time.Time, holder CronHolder) (bool, error) {
	if err := cron.Check(); err != nil {
		return false, &ScriptError{Command: "cron.put", Message: err.Error()}
	}
	args := []any{cron.Name, rev, holder.Fleet, holder.Instance, cron.Print(), dueText(next)}
	word, err := c.text(ctx, Batch, "cron.put", append(args, cron.fields()...)...)
	return word == "put", err
}

// dueText writes a moment of a schedule; the zero time is never.
func dueText(at time.Time) string {
	if at.IsZero() {
		return "+inf"
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// dueTime reads what dueText wrote.
func dueTime(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// CronWord is what a supervisor learns about a recurring job of its file.
type CronWord string

const (
	CronSame  CronWord = "same"  // what is there is what its file says
	CronNew   CronWord = "new"   // it is to write it
	CronOther CronWord = "other" // a newer file of another supervisor says otherwise
	CronHand  CronWord = "hand"  // it was made by hand, and is left alone
)

// CronAgreement answers for one Cron.
type CronAgreement struct {
	Word CronWord
	Rev  string    // of what is there; "" if nothing is
	Next time.Time // when its next run is due; zero if never, or if nothing is there
}

// cronChunk is how many recurring jobs are asked about in one call.
const cronChunk = 40

// AgreeCrons says which recurring jobs the file of a supervisor has, and answers for each. It is
// to be repeated well within CronLease.
func (c *Client) AgreeCrons(ctx context.Context, holder CronHolder, crons []Cron) ([]CronAgreement, error) {
	var all []CronAgreement
	for some := range slices.Chunk(crons, cronChunk) {
		args := []any{holder.Fleet, holder.Instance, wire.Number(CronLease.Seconds())}
		for i := range some {
			args = append(args, some[i].Name, some[i].Print())
		}
		raw, err := c.call(ctx, Batch, "cron.agree", args...)
		if err != nil {
			return nil, err
		}
		in := wire.Read(raw)
		for range some {
			one := wire.Reader{Items: in.List()}
			all = append(all, CronAgreement{Word: CronWord(one.Text()), Rev: one.Text(), Next: dueTime(one.Text())})
			if err := errors.Join(in.Err, one.Err); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// LeaveCrons ends recurring jobs that files of the holder's fleet had and its own has not, which
// is crons, unless a supervisor that is there has them. It returns the names of those that ended.
func (c *Client) LeaveCrons(ctx context.Context, holder CronHolder, crons []Cron) (ended []string, err error) {
	names, err := c.FleetCrons(ctx, holder.Fleet)
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(crons))
	for i := range crons {
		has[crons[i].Name] = true
	}
	names = slices.DeleteFunc(names, func(name string) bool { return has[name] })
	for some := range slices.Chunk(names, cronChunk) {
		raw, err := c.call(ctx, Batch, "cron.leave", wire.Args(some, holder.Fleet, holder.Instance, wire.Number(CronLease.Seconds()))...)
		if err != nil {
			return ended, err
		}
		in := wire.Read(raw)
		for _, name := range some {
			if in.Text() == "ended" {
				ended = append(ended, name)
			}
		}
		if in.Err != nil {
			return ended, in.Err
		}
	}
	return ended, nil
}

// FleetCrons are the names of the recurring jobs that files of a fleet have, or had when they were
// seen last.
func (c *Client) FleetCrons(ctx context.Context, fleet string) ([]string, error) {
	names, err := c.redis.SMembers(ctx, c.ns+"oarlock:cron-files:"+fleet).Result()
	slices.Sort(names)
	return names, classify("smembers", err)
}

// DueCron is a recurring job that is to be looked at: a run is due, or waits.
type DueCron struct {
	Name, Rev      string
	Due            time.Time // of the next run, which may be to come; zero if there is none
	Schedule, Zone string
	Missed         Missed
}

// CronRuns is how many runs RunCrons may be asked for in one call.
const CronRuns = 25

// DueCrons lists recurring jobs that are to be looked at, CronRuns at most, and when the next one
// is, in seconds since the epoch; 0 if there is none.
func (c *Client) DueCrons(ctx context.Context) (due []DueCron, next float64, err error) {
	raw, err := c.call(ctx, Batch, "cron.due", CronRuns)
	if err != nil {
		return nil, 0, err
	}
	in := wire.Read(raw)
	list := wire.Reader{Items: in.List()}
	for range list.Items {
		one := wire.Reader{Items: list.List()}
		due = append(due, DueCron{
			Name: one.Text(), Rev: one.Text(), Due: dueTime(one.Text()), Schedule: one.Text(), Zone: one.Text(), Missed: Missed(one.Text()),
		})
		if one.Err != nil {
			return nil, 0, one.Err
		}
	}
	next = in.Float()
	return due, next, errors.Join(in.Err, list.Err)
}

// AllCrons lists all recurring jobs as DueCrons does, whenever they are due.
func (c *Client) AllCrons(ctx context.Context) ([]DueCron, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"oarlock:crons", 0, -1).Result()
	if err = classify("zrange", err); err != nil {
		return nil, err
	}
	var all []DueCron
	for some := range slices.Chunk(names, 100) {
		pipe := c.redis.Pipeline()
		reads := make([]*redis.SliceCmd, len(some))
		for i, name := range some {
			reads[i] = pipe.HMGet(ctx, c.ns+"oarlock:cron:"+name, "rev", "due", "schedule", "zone", "missed")
		}
		if _, err := pipe.Exec(ctx); err != nil {
			if err = classify("hmget", err); !unreadable(err) {
				return nil, err
			}
		}
		for i, read := range reads {
			one := wire.Reader{Items: read.Val()}
			if read.Err() == nil && read.Val()[0] != nil {
				all = append(all, DueCron{
					Name: some[i], Rev: one.Text(), Due: dueTime(one.Text()), Schedule: one.Text(), Zone: one.Text(), Missed: Missed(one.Text()),
				})
			}
		}
	}
	return all, nil
}

// CronRun asks for runs of a recurring job.
type CronRun struct {
	DueCron
	Times   []time.Time // when they were due, oldest first
	Next    time.Time   // when the run after them is
	GivenUp int         // how many are not put
	Unread  bool        // the caller cannot read the schedule; it is looked at again in a minute
}

// CronRan answers a CronRun.
type CronRan struct {
	Word    string // ran; changed: it was changed meanwhile, or another did it; refused, see Why
	Put     int
	Skipped int    // because the job of the last run was not over
	Why     string // it was refused; that is tried again after a minute
}

// RunCrons puts runs that are due, each once, whoever else does so too. It may be repeated after
// any error. Together they may have CronRuns runs.
func (c *Client) RunCrons(ctx context.Context, runs []CronRun) ([]CronRan, error) {
	var args []any
	for _, r := range runs {
		missed := strconv.Itoa(r.GivenUp)
		if r.Unread {
			missed = ""
		}
		args = append(args, r.Name, r.Rev, dueText(r.Due), dueText(r.Next), missed, len(r.Times))
		for _, at := range r.Times {
			args = append(args, dueText(at), RunJID(r.Name, at))
		}
	}
	raw, err := c.call(ctx, Batch, "cron.run", args...)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	answers := make([]CronRan, len(runs))
	for i := range answers {
		one := wire.Reader{Items: in.List()}
		answers[i] = CronRan{Word: one.Text(), Put: one.Int(), Skipped: one.Int(), Why: one.Text()}
		if err := errors.Join(in.Err, one.Err); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// ErrHeld says that a recurring job is in the file of a supervisor that is there.
var ErrHeld = errors.New("it is in the configuration of a supervisor that runs, which would bring it back")

// EndCron ends a recurring job; what it has put lives on. The error is ErrNoJob if there is none,
// and ErrHeld if it would come back.
func (c *Client) EndCron(ctx context.Context, name string) error {
	word, err := c.text(ctx, Batch, "cron.end", name, wire.Number(CronLease.Seconds()))
	switch {
	case err != nil:
		return err
	case word == "held":
		return ErrHeld
	case word == "gone":
		return ErrNoJob
	}
	return nil
}

// PauseCron lets a recurring job put nothing until ResumeCron. It returns false if rev is not that
// of what is there any more.
func (c *Client) PauseCron(ctx context.Context, name, rev string) (bool, error) {
	word, err := c.text(ctx, Batch, "cron.pause", name, rev, "")
	return word == "paused", err
}

// ResumeCron lets it go on, and its next run be due at next; see PauseCron.
func (c *Client) ResumeCron(ctx context.Context, name, rev string, next time.Time) (bool, error) {
	word, err := c.text(ctx, Batch, "cron.pause", name, rev, dueText(next))
	return word == "resumed", err
}

// Crons reads all recurring jobs that our supervisors put, the next one first.
func (c *Client) Crons(ctx context.Context) ([]Cron, error) {
	names, err := c.redis.ZRange(ctx, c.ns+"oarlock:crons", 0, -1).Result()
	if err = classify("zrange", err); err != nil {
		return nil, err
	}
	var crons []Cron
	for some := range slices.Chunk(names, 100) {
		read, err := c.readCrons(ctx, some)
		if err != nil {
			return nil, err
		}
		crons = append(crons, read...)
	}
	return crons, nil
}

// Cron reads one of them. The error is ErrNoJob if there is none.
func (c *Client) Cron(ctx context.Context, name string) (Cron, error) {
	crons, err := c.readCrons(ctx, []string{name})
	if err == nil && len(crons) == 0 {
		err = ErrNoJob
	}
	if err != nil {
		return Cron{}, err
	}
	return crons[0], nil
}

// readCrons reads those of the names that there are.
func (c *Client) readCrons(ctx context.Context, names []string) ([]Cron, error) {
	pipe := c.redis.Pipeline()
	hashes, holds := make([]*redis.MapStringStringCmd, len(names)), make([]*redis.MapStringStringCmd, len(names))
	for i, name := range names {
		hashes[i] = pipe.HGetAll(ctx, c.ns+"oarlock:cron:"+name)
		holds[i] = pipe.HGetAll(ctx, c.ns+"oarlock:cron-held:"+name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if err = classify("hgetall", err); !unreadable(err) {
			return nil, err
		}
	}
	var crons []Cron
	for i, name := range names {
		if err := hashes[i].Err(); err != nil {
			crons = append(crons, Cron{Name: name, Next: math.Inf(1), Damage: err.Error()})
		} else if f := hashes[i].Val(); len(f) > 0 {
			crons = append(crons, readCron(name, f, holds[i].Val()))
		}
	}
	return crons, nil
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

// CronsSeen is when a supervisor last looked whether a recurring job of ours is due, in seconds
// since the epoch; 0 if none ever did while there was one.
func (c *Client) CronsSeen(ctx context.Context) (float64, error) {
	text, err := c.redis.HGet(ctx, c.ns+"oarlock:cron-state", "seen").Result()
	if err = classify("hget", err); err != nil && !isNull(err) {
		return 0, err
	}
	seen, _ := strconv.ParseFloat(text, 64)
	return seen, nil
}
