package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/web/chart"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// pageRows is how many rows a page of a list has.
const pageRows = 50

// queueViews are the pages of queues.
func (a *App) queueViews() []view {
	return []view{
		{path: "/queues", template: "queues", section: "/queues", fill: a.queuesPage},
		{path: "/queues/{queue}", template: "queue", section: "/queues", fill: a.queuePage},
		{path: "/queues/{queue}/stats", template: "stats", section: "/queues", still: true, fill: a.statsPage},
	}
}

func (a *App) queuesPage(c *Call, p *pages.Page) error {
	p.Title = "Queues"
	a.head(c, p)
	all, now, err := a.counted(c.R.Context())
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	body := pages.Queues{Match: query.Get("match"), Sort: query.Get("sort")}
	if !slices.Contains([]string{"lag", "waiting", "name"}, body.Sort) {
		body.Sort = "lag"
	}
	rows := slices.DeleteFunc(a.queueRows(all, now, body.Sort), func(q pages.Queue) bool { return body.Match != "" && !queue.Match(body.Match, q.Name) })
	at := min(max(0, atoi(query.Get("at"))), len(rows))
	if body.Rows, err = a.freshRows(c.R.Context(), rows[at:min(at+pageRows, len(rows))]); err != nil {
		return err
	}
	body.Print = queuePrint(body.Rows)
	if len(rows) > 0 {
		body.Shown = fmt.Sprintf("%s to %s of %s", screen.Count(min(at+1, len(rows))), screen.Count(at+len(body.Rows)), screen.Some(len(rows), "queue"))
	}
	page := func(at int) string {
		href, _ := pages.Query(a.book().Link("queues"), "match", body.Match, "sort", body.Sort, "at", at)
		return href
	}
	if at > 0 {
		body.First = page(0)
	}
	if at+pageRows < len(rows) {
		body.Next = page(at + pageRows)
	}
	p.Body = body
	return nil
}

// atoi is a number of a query, 0 if it is none.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func (a *App) queuePage(c *Call, p *pages.Page) error {
	name := c.Name("queue")
	ctx := c.R.Context()
	p.Title = name + " · Queues"
	w := a.head(c, p)
	if err := ops.KnownQueues(ctx, a.o.Redis, name); err != nil {
		return err
	}
	census, now, err := a.o.Redis.Census(ctx, []string{name})
	if err != nil {
		return err
	}
	q := &census[0]
	a.looks.Add(census, now)
	state := c.R.URL.Query().Get("state")
	if !slices.Contains(ops.QueueStates, state) {
		state = firstState(q)
	}
	part, err := ops.JobsOn(ctx, a.o.Redis, queue.Shelf{Kind: queue.ShelfKind(state), Name: name}, ops.Window{Cursor: c.R.URL.Query().Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	own := a.book().Link("queues", name)
	body := pages.QueuePage{
		Queue: a.queueRow(q, now), State: state, Listeners: a.listenerRows(*w.roll, name), MayPut: c.Who.MayPut(name) && !a.readOnly(c),
		StatsHref: a.book().Link("queues", name, "stats"), Limited: strconv.Itoa(q.Limit),
	}
	if a.o.Hub != nil {
		body.Line = chart.Spark("Waiting, the last hour", points(a.o.Hub.QueueHistory(name), func(p hub.Point) float64 { return float64(p.Waiting) }), stepWords, wholeWords)
	}
	w.outlook(&body.Queue)
	body.Queue.Keys, body.Windows = keyWords(q, now), a.windowWords(ctx)[name]
	fair, err := ops.FairOf(ctx, a.o.Redis, name)
	if err != nil {
		return err
	}
	if fair != nil {
		body.Fair = fair.Words()
	}
	if q.NextDue > now {
		body.NextDue = q.NextDue - now
	}
	for _, s := range []struct {
		name string
		n    int
	}{{"waiting", q.Waiting}, {"running", q.Running}, {"stalled", q.Stalled}, {"scheduled", q.Scheduled}, {"depends", q.Depends}, {"throttled", q.Throttled}} {
		href, _ := pages.Query(own, "state", s.name)
		body.States = append(body.States, pages.State{Name: s.name, Jobs: s.n, Href: href, Here: s.name == state})
	}
	here, _ := pages.Query(own, "state", state)
	body.Jobs = a.jobList(part, here, c.R.URL.Query().Get("cursor") != "")
	body.Jobs.Empty, body.Jobs.Command = "No job of this queue is "+state+".", ""
	if p.Write {
		deed := pages.Deed{Label: "Pause", Action: a.book().Link("queues", name, "pause")}
		if q.Paused {
			deed = pages.Deed{Label: "Resume", Action: a.book().Link("queues", name, "resume"), Tone: pages.Good}
		}
		body.Deeds, body.Bulk = []pages.Deed{deed}, a.stateDeeds(name, state, part.Total)
		a.choose(p, &body.Jobs)
	}
	p.Body = body
	return nil
}

// keyWords says how it stands with the keys of a queue; "" of one that has none.
func keyWords(q *queue.QueueCensus, now float64) string {
	if !q.Keys.Ordered {
		return ""
	}
	text := fmt.Sprintf("%s; %s behind others", screen.Some(q.Keys.All, "key"), screen.Some(q.Behind, "job"))
	if q.Keys.Blocked > 0 {
		text += " of " + screen.Some(q.Keys.Blocked, "key")
	}
	if blocked := q.Keys.BlockedFor(now); blocked > 0 {
		text += ", the longest for " + pages.Span(blocked)
	}
	return text
}

// readOnly reports whether nobody may change anything by the way a call came.
func (a *App) readOnly(c *Call) bool { return a.o.ReadOnly || c.door != nil && c.door.ReadOnly }

// firstState is the state whose jobs are shown first: the first in which there are any.
func firstState(q *queue.QueueCensus) string {
	for i, n := range []int{q.Running, q.Waiting, q.Stalled, q.Scheduled, q.Depends, q.Throttled} {
		if n > 0 {
			return []string{"running", "waiting", "stalled", "scheduled", "depends", "throttled"}[i]
		}
	}
	return "waiting"
}

// worksQueue reports whether a pool takes jobs of a queue.
func worksQueue(pool supervisor.PoolSnapshot, name string) bool {
	return queue.MatchAny(pool.Queues, name)
}

// heardListener is a listener, and the supervisor that told of it.
type heardListener struct {
	listener
	of *rollcall.Answer
}

// listeners are the pools that take jobs of a queue, on all hosts that answered.
func (a *App) listeners(roll rollcall.Roll, name string) []heardListener {
	var all []heardListener
	for i := range roll.Items {
		answer := &roll.Items[i]
		for _, pool := range answer.Status.Pools {
			if !worksQueue(pool, name) {
				continue
			}
			row := poolRow(pool)
			l := listener{
				Host: cmp.Or(answer.Host, answer.Status.Name), Supervisor: answer.Status.Name, PID: answer.Status.PID,
				Pool: pool.Name, Busy: row.Busy, Children: pool.Children, Trouble: row.Trouble,
			}
			switch {
			case pool.Quiet:
				l.Trouble = "it is quiet"
			case pool.Draining:
				l.Trouble = "it is draining"
			}
			all = append(all, heardListener{l, answer})
		}
	}
	return all
}

// listenerRows are the listeners of a queue on its page.
func (a *App) listenerRows(roll rollcall.Roll, name string) []pages.Listener {
	var rows []pages.Listener
	for _, l := range a.listeners(roll, name) {
		row := pages.Listener{Host: l.Host, Pool: l.Pool, Busy: l.Busy, Children: l.Children, Trouble: l.Trouble, Href: a.hostLink(l.of.Who())}
		if a.itself(l.of) {
			row.Href = a.book().Link("pools", l.Pool)
		}
		rows = append(rows, row)
	}
	return rows
}

// jobList is a part of a list of jobs. here is the path of its page, which has a query or not; later says that it is not
// the first part.
func (a *App) jobList(part ops.Part[ops.Job], here string, later bool) pages.Jobs {
	list := pages.Jobs{}
	var names []string
	for _, job := range part.Items {
		list.Rows = append(list.Rows, a.jobRow(job, part.AsOf))
		names = append(names, job.JID)
	}
	list.Print = printOf(names)
	if part.Total > 0 {
		list.Says = fmt.Sprintf("%s of %s shown", screen.Count(len(part.Items)), screen.Some(part.Total, "job"))
	}
	if later {
		list.First = here
	}
	if part.Next != "" {
		list.Next, _ = pages.Query(here, "cursor", part.Next)
	}
	return list
}

// jobRow is a job in a list, at the server's time now, without what is secret.
func (a *App) jobRow(job ops.Job, now float64) pages.JobRow {
	job = a.redactor.job(job)
	row := pages.JobRow{
		Ref: refOf(job), JID: job.JID, Klass: job.Klass, Queue: job.Queue, Key: job.Key, State: job.State,
		Crashes: job.Crashes, Tags: job.Tags, Data: string(job.Data), Message: job.Failed().Message,
	}
	if job.State == queue.RowGone {
		return row
	}
	if n := job.Retries + 1; job.Attempt > 0 && (n > 1 || job.Crashes > 0) {
		row.Attempt = fmt.Sprintf("%d of %d", job.Attempt, n+job.Crashes)
	}
	switch {
	case job.State == "failed":
		row.When = pages.Ago(now - job.Failed().When)
	case job.State == "scheduled" && job.Due > 0:
		row.When = "in " + pages.Span(max(0, job.Due-now))
	case job.State == "parked":
		row.When = "for an answer, " + pages.Span(max(0, job.Due-now)) + " yet"
	case job.State == "running" && job.Expires > 0:
		row.When = "lock for " + pages.Span(max(0, job.Expires-now))
	case job.State == "stalled" && job.Expires > 0:
		row.When = "lock ran out " + pages.Ago(now-job.Expires)
	}
	return row
}

// statsPage is how a queue went on a day.
func (a *App) statsPage(c *Call, p *pages.Page) error {
	name, ctx := c.Name("queue"), c.R.Context()
	p.Title = "Statistics of " + name
	s, err := ops.StatsOf(ctx, a.o.Redis, name, c.R.URL.Query().Get("day"))
	if err != nil {
		return err
	}
	days, err := ops.Days(ctx, a.o.Redis, name, 30)
	if err != nil {
		return err
	}
	a.head(c, p)
	of := func(day time.Time) string {
		href, _ := pages.Query(a.book().Link("queues", name, "stats"), "day", day.Format(time.DateOnly))
		return href
	}
	day, err := time.Parse(time.DateOnly, s.Day)
	if err != nil {
		return err
	}
	body := pages.QueueStats{
		Queue: name, Day: s.Day, Earlier: of(day.AddDate(0, 0, -1)), Failures: s.Failures, Failed: s.Failed, Retries: s.Retries,
		Spreads: []pages.Spread{spread("Waited", s.Wait), spread("Ran", s.Run)},
	}
	if len(days) > 0 && s.Day < days[0].Day {
		body.Later = of(day.AddDate(0, 0, 1))
	}
	var names []string
	var counts []float64
	for _, d := range slices.Backward(days) {
		names, counts = append(names, d.Day), append(counts, float64(d.Ran.Count))
	}
	body.DaysChart = chart.Columns("Jobs done a day", names, counts, wholeWords)
	for _, d := range days {
		if day, err := time.Parse(time.DateOnly, d.Day); err == nil {
			body.Days = append(body.Days, pages.Day{Day: d.Day, Href: of(day), Done: d.Ran.Count, Mean: d.Ran.Mean, Failures: d.Failures, Retries: d.Retries})
		}
	}
	p.Body = body
	return nil
}

func wholeWords(v float64) string { return screen.Count(int(math.Round(v))) }

// spans are the columns into which the buckets of the protocol's histogram are drawn together, by the first second of each.
var spans = []struct {
	from float64
	name string
}{
	{0, "under 1 s"}, {1, "1 s"}, {2, "2 to 5 s"}, {5, "5 to 15 s"}, {15, "15 to 30 s"}, {30, "30 to 60 s"}, {60, "1 to 2 min"}, {120, "2 to 5 min"},
	{300, "5 to 15 min"}, {900, "15 to 30 min"}, {1800, "30 to 60 min"}, {3600, "1 to 3 h"}, {3 * 3600, "3 to 12 h"}, {12 * 3600, "12 to 24 h"}, {86400, "a day or more"},
}

// spread is a distribution as it is drawn.
func spread(name string, d ops.Durations) pages.Spread {
	counts, names := make([]float64, len(spans)), make([]string, len(spans))
	for i, s := range spans {
		names[i] = s.name
	}
	for bucket, n := range d.Histogram {
		from, _ := queue.HistogramBucket(bucket)
		at := len(spans) - 1
		for at > 0 && spans[at].from > from.Seconds() {
			at--
		}
		counts[at] += float64(n)
	}
	return pages.Spread{Name: name, Count: d.Count, Mean: d.Mean, Std: d.Std, Histogram: chart.Columns(name, names, counts, wholeWords)}
}

// queueActs are what is done to queues.
func (a *App) queueActs() []act {
	one := func(path, does string, do func(ctx context.Context, c *Call, name string) (string, error)) act {
		return act{path: "/queues/{queue}/" + path, does: does, do: func(c *Call) (string, string, error) {
			name := c.Name("queue")
			c.Did(name, 0)
			told, err := do(c.R.Context(), c, name)
			return told, a.book().Link("queues", name), err
		}}
	}
	put := one("put", "put job", a.putByPage)
	put.right = Put
	return []act{
		{path: "/queues", does: "pause or resume queues", do: a.pauseMany},
		one("pause", "pause queue", func(ctx context.Context, _ *Call, name string) (string, error) {
			return "queue " + name + " is paused: what runs goes on, nothing more is handed out", ops.Pause(ctx, a.o.Redis, []string{name}, ops.Never)
		}),
		one("resume", "resume queue", func(ctx context.Context, _ *Call, name string) (string, error) {
			return "queue " + name + " is resumed", ops.Resume(ctx, a.o.Redis, []string{name})
		}),
		one("limit", "limit queue", func(ctx context.Context, c *Call, name string) (string, error) {
			n, err := strconv.Atoi(strings.TrimSpace(c.R.PostFormValue("limit")))
			if err != nil || n < 0 {
				return "", badField("limit", "%q is no number of jobs; 0 is any number", shown(c.R.PostFormValue("limit")))
			}
			return fmt.Sprintf("queue %s may run %s at a time", name, limitWords(n)), ops.SetLimit(ctx, a.o.Redis, name, n, ops.Always)
		}),
		put,
	}
}

func limitWords(n int) string {
	if n == 0 {
		return "any number of jobs"
	}
	return screen.Some(n, "job")
}

// pauseMany pauses, or resumes, the queues that were chosen.
func (a *App) pauseMany(c *Call) (told, to string, err error) {
	to = a.book().Link("queues")
	if err := c.R.ParseForm(); err != nil {
		return "", "", badField("form", "%v", err)
	}
	names := slices.Clone(c.R.PostForm["queue"])
	for i, name := range names {
		if names[i], err = url.QueryUnescape(name); err != nil { // forms change line breaks
			return "", "", badField("queue", "%q is none that the page named", shown(name))
		}
	}
	if len(names) == 0 {
		return "", "", badField("queue", "choose at least one")
	}
	c.Did(screen.Shorten(strings.Join(names, " "), 200), len(names))
	if c.R.PostFormValue("do") == "resume" {
		return "resumed " + screen.Some(len(names), "queue"), to, ops.Resume(c.R.Context(), a.o.Redis, names)
	}
	return "paused " + screen.Some(len(names), "queue"), to, ops.Pause(c.R.Context(), a.o.Redis, names, ops.Never)
}

// putByPage puts one job.
func (a *App) putByPage(ctx context.Context, c *Call, name string) (string, error) {
	if !c.Who.MayPut(name) {
		return "", problem(403, "no_right", "%s may %s, and so not put jobs into %s", c.Who.Name, c.Who.Rights(), shown(name))
	}
	data := strings.TrimSpace(c.R.PostFormValue("data"))
	if !json.Valid([]byte(data)) {
		return "", badField("data", "%s is no JSON; quote texts, as in {\"path\": \"cat.jpg\"}", shown(data))
	}
	klass := c.R.PostFormValue("klass")
	if klass == "" {
		return "", badField("klass", "name the class of the job")
	}
	jid, err := a.o.Redis.Put(ctx, queue.Put{Queue: name, Klass: klass, Data: []byte(data)})
	if err != nil {
		return "", err
	}
	return "put " + jid, nil
}

// back is the page from which a form came, if it is one of ours; else to.
func back(c *Call, to string) string {
	u, err := url.Parse(c.R.Header.Get("Referer"))
	if err != nil || u.Host != c.R.Host {
		return to
	}
	return u.RequestURI()
}
