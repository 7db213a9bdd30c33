package web

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// How much of a list the overview shows, and how long a page waits for other hosts.
const (
	overviewQueues = 12
	overviewGroups = 8
	hostsPatience  = 300 * time.Millisecond
)

// printOf is a short text that differs where the names do.
func printOf(names []string) string {
	h := fnv.New64a()
	for _, name := range names {
		fmt.Fprintf(h, "%d:%s", len(name), name)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// roll is what the supervisors of the namespace say; of this process alone, where nobody else can be asked, and all is false.
func (a *App) roll(ctx context.Context) (roll rollcall.Roll, all bool) {
	if a.o.Others != nil {
		ctx, cancel := context.WithTimeout(ctx, hostsPatience)
		defer cancel()
		if roll, err := a.o.Others.Call(ctx); err == nil {
			return a.withOwn(roll), true
		}
	}
	return a.withOwn(rollcall.Roll{}), false
}

// withOwn adds what the supervisor of this process says, if it did not answer: it does not hear the question while Redis is away for
// it, or takes no writes.
func (a *App) withOwn(roll rollcall.Roll) rollcall.Roll {
	shot, is := a.shot()
	if !is || slices.ContainsFunc(roll.Items, func(answer rollcall.Answer) bool { return a.itself(&answer) }) {
		return roll
	}
	own := rollcall.Answer{Host: a.o.Host, Version: a.o.Version, Status: shot, Sums: rollcall.Sum(&shot), Disagrees: a.disagrees()}
	roll.Items = append(slices.Clone(roll.Items), own)
	switch {
	case roll.Asked < 0: // nobody knows how many were
	case roll.Missing > 0: // it was one of them
		roll.Missing--
	default:
		roll.Asked++
	}
	roll.Answered++
	return roll
}

// workersLast is how old it may be what is told of supervisors that do not answer.
const workersLast = 2 * time.Second

// withUnheard adds the supervisors that are known only by the jobs that they hold or held; where Redis does not tell, nobody
// has looked.
func (a *App) withUnheard(ctx context.Context, roll rollcall.Roll) rollcall.Roll {
	if workers, err := a.workers.get(ctx, workersLast, a.o.Redis.Workers); err == nil {
		roll.NoteUnheard(workers)
	}
	return roll
}

// poolLinks leads to the pools of this process; those of others have no page here.
func (a *App) poolLinks(pool, text string) []pages.Link {
	shot, is := a.shot()
	if !is || poolNamed(shot, pool) == nil {
		return nil
	}
	if href := a.book().Link("pools", pool); href != "" {
		return []pages.Link{{Href: href, Text: text}}
	}
	return nil
}

// head writes the headline for pages about all supervisors, and gives what was found.
func (a *App) head(c *Call, p *pages.Page) *worry {
	w := &worry{link: a.book().Link}
	roll, all := a.roll(c.R.Context())
	if len(roll.Items) == 0 { // else what is known of them is on the page of supervisors
		roll = a.withUnheard(c.R.Context(), roll)
	}
	w.everybody(roll, a.poolLinks)
	a.disagreeing(w, roll.Items)
	if !all {
		p.Scope = "this supervisor"
	}
	a.warn(w)
	if counted, now, err := a.counted(c.R.Context()); err == nil {
		w.queues(counted, now, a.book().Link)
	}
	p.Headline = w.headline()
	return w
}

// warn adds what is to be known of the doors of this process.
func (a *App) warn(w *worry) {
	if a.o.Risk != "" {
		w.add(pages.Warn, nil, "%s", a.o.Risk)
	}
}

// disagrees are sentences on which rules of the file of this process do not count.
func (a *App) disagrees() []string {
	if a.o.Disagrees == nil {
		return nil
	}
	return a.o.Disagrees()
}

// mostDisagreements is how many rules that do not count are told of on top of a page; others are on that of the rules.
const mostDisagreements = 5

// disagreeing adds which rules of files do not count, each once, however many hosts have them.
func (a *App) disagreeing(w *worry, all []rollcall.Answer) {
	var said []string
	hosts := map[string][]string{} // by sentence
	for i := range all {
		for _, text := range all[i].Disagrees {
			if hosts[text] == nil {
				said = append(said, text)
			}
			hosts[text] = append(hosts[text], all[i].Host)
		}
	}
	links := []pages.Link{{Href: a.book().Link("rules"), Text: "see"}}
	for i, text := range said {
		if i == mostDisagreements {
			w.add(pages.Warn, links, "Beside these: %s of files.", screen.Some(len(said)-i, "rule"))
			return
		}
		on := ""
		if names := hosts[text]; names[0] != "" {
			on = "In the file of " + screen.Shorten(strings.Join(names, ", "), 100) + ": "
		}
		w.add(pages.Warn, links, "%s%s.", on, strings.TrimSuffix(screen.Shorten(a.redactor.text(text), 300), "."))
	}
}

// headLocal is the headline of pages that are about this process alone.
func (a *App) headLocal(p *pages.Page, shot supervisor.Snapshot) {
	w := &worry{link: a.book().Link}
	w.supervisor(shot, "", a.poolLinks)
	a.disagreeing(w, []rollcall.Answer{{Disagrees: a.disagrees()}})
	a.warn(w)
	p.Headline, p.Scope = w.headline(), "this supervisor"
}

func (a *App) overviewPage(c *Call, p *pages.Page) error {
	p.Title = "Overview"
	w := a.head(c, p)
	all, now, err := a.counted(c.R.Context())
	if err != nil {
		return err
	}
	groups, err := ops.Failures(c.R.Context(), a.o.Redis, ops.Window{Limit: overviewGroups})
	if err != nil {
		return err
	}
	body := pages.Overview{Wrong: w.worst(), Total: len(all), Figures: a.figures(all, now), Failed: -1}
	for _, n := range w.notices {
		body.WrongPrint += n.Text + "\n"
	}
	body.WrongPrint = printOf([]string{wrongWithoutNumbers(body.WrongPrint)})
	rows := a.queueRows(all, now, "lag")
	if body.Queues, err = a.freshRows(c.R.Context(), rows[:min(len(rows), overviewQueues)]); err != nil {
		return err
	}
	for i := range body.Queues {
		w.outlook(&body.Queues[i])
	}
	body.QueuePrint = queuePrint(body.Queues)
	body.Groups, body.GroupPrint = a.groupRows(groups.Items, groups.AsOf)
	if groups.Next == "" {
		body.Failed = 0
		for _, g := range groups.Items {
			body.Failed += g.Jobs
		}
	}
	body.Hosts, body.Silent = a.hosts(*w.roll), silentWords(*w.roll)
	p.Body = body
	return nil
}

// wrongWithoutNumbers is what is wrong but for how long and how much, which changes all the time.
func wrongWithoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, text)
}

// queueRows are queues in an order: lag, waiting or name.
func (a *App) queueRows(all []queue.QueueCensus, now float64, order string) []pages.Queue {
	rows := make([]pages.Queue, 0, len(all))
	for i := range all {
		rows = append(rows, a.queueRow(&all[i], now))
	}
	slices.SortStableFunc(rows, func(x, y pages.Queue) int {
		switch order {
		case "lag":
			if c := cmp.Or(cmp.Compare(y.Lag, x.Lag), cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(y.Running, x.Running)); c != 0 {
				return c
			}
		case "waiting":
			if c := cmp.Compare(y.Waiting, x.Waiting); c != 0 {
				return c
			}
		}
		return strings.Compare(x.Name, y.Name)
	})
	return rows
}

// freshRows are rows as they are at this moment.
func (a *App) freshRows(ctx context.Context, rows []pages.Queue) ([]pages.Queue, error) {
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	windows := a.windowWords(ctx)
	by, now, err := a.recount(ctx, names)
	if err != nil {
		return nil, err
	}
	fresh := make([]pages.Queue, len(names))
	for i, name := range names {
		fresh[i] = a.queueRow(by[name], now)
		if fresh[i].Windows = windows[name]; by[name].Keys.All > 0 { // a queue that had keys once need not say so
			fresh[i].Keys = keyWords(by[name], now)
		}
	}
	return fresh, nil
}

func (a *App) queueRow(q *queue.QueueCensus, now float64) pages.Queue {
	return pages.Queue{
		Name: q.Name, Waiting: q.Waiting + q.Throttled, Running: q.Running, Scheduled: q.Scheduled, Stalled: q.Stalled,
		Paused: q.Paused, Limit: q.Limit, Lag: q.Lag(now), Damage: q.Damage,
		Outlook: a.looks.Outlook(q.Name, "").Says,
	}
}

func queuePrint(rows []pages.Queue) string {
	var names []string
	for _, q := range rows {
		names = append(names, q.Name, fmt.Sprint(q.Paused))
	}
	slices.Sort(names) // a change of order alone is not worth a word
	return printOf(names)
}

// groupRows are groups of failures as rows.
func (a *App) groupRows(all []ops.FailureGroup, now float64) (rows []pages.Group, print string) {
	var names []string
	for _, g := range all {
		row := pages.Group{Name: g.Group, Jobs: g.Jobs, Message: g.Damage}
		if n := g.Newest; n != nil {
			row.When, row.Klass, row.Queue, row.Message, row.Newest = pages.Ago(now-n.When), n.Klass, n.Queue, a.hide(n.Message), n.JID
		}
		rows = append(rows, row)
		names = append(names, g.Group)
	}
	slices.Sort(names)
	return rows, printOf(names)
}

// hosts are the supervisors that answered.
func (a *App) hosts(roll rollcall.Roll) []pages.Host {
	var hosts []pages.Host
	for i := range roll.Items {
		hosts = append(hosts, a.hostRow(&roll.Items[i]))
	}
	return hosts
}

// hostRow is one of them.
func (a *App) hostRow(answer *rollcall.Answer) pages.Host {
	s := answer.Status
	h := pages.Host{
		Name: cmp.Or(answer.Host, s.Name), Version: answer.Version, Up: s.Up, Pools: answer.Sums.Pools, Busy: answer.Sums.Busy, Children: answer.Room(),
		Here: a.itself(answer), Page: answer.URL, State: "ready", Redis: "ok",
	}
	if !h.Here {
		h.Inside = a.hostLink(answer.Who())
	}
	what, _ := s.RedisTrouble()
	switch {
	case s.Draining:
		h.State = "draining"
	case s.Quiet:
		h.State = "quiet"
	case what != "":
		h.State, h.Redis = "away", what
	case s.Abstains != "":
		h.State = "abstains"
	case !s.Ready:
		h.State = "not ready"
	}
	var trouble []string
	if n := answer.Sums.Breakers; n > 0 {
		trouble = append(trouble, screen.Some(n, "pool")+" with an open breaker")
	}
	if n := answer.Sums.Rolling; n > 0 {
		trouble = append(trouble, screen.Some(n, "pool")+" in a roll")
	}
	h.Trouble = strings.Join(trouble, ", ")
	return h
}

// unheardRows are supervisors that did not answer.
func (a *App) unheardRows(all []rollcall.Unheard) (rows []pages.Unheard) {
	for _, u := range all {
		rows = append(rows, pages.Unheard{Name: u.Name, PID: u.PID, Pools: u.Pools, Workers: u.Workers, Says: u.Says(), Seen: pages.Ago(a.o.Redis.Now() - u.Seen), Odd: u.Jobs == 0 && u.Stalled > 0})
	}
	return rows
}

func (a *App) supervisorsPage(c *Call, p *pages.Page) error {
	p.Title = "Supervisors"
	w := a.head(c, p)
	*w.roll = a.withUnheard(c.R.Context(), *w.roll)
	body := pages.Supervisors{Unheard: a.unheardRows(w.roll.Unheard), Looked: w.roll.Unheard != nil, Hosts: a.hosts(*w.roll), Asked: w.roll.Asked, Silent: silentWords(*w.roll)}
	if w.roll.Asked > 0 {
		body.Says = fmt.Sprintf("%d of %s answered.", w.roll.Answered, screen.Some(w.roll.Asked, "supervisor"))
	}
	if shot, is := a.shot(); is && p.Write && !shot.Draining {
		path := func(deed string) string { return a.o.Prefix + "/supervisors/" + deed }
		quiet := pages.Deed{Label: "Quiet", Action: path("quiet")}
		if shot.Quiet {
			quiet = pages.Deed{Label: "Resume", Action: path("resume"), Tone: pages.Good}
		}
		body.Deeds = []pages.Deed{quiet, {Label: "Reload", Action: path("reload")}, {Label: "Drain…", Form: path("drain"), Tone: pages.Bad}, {Label: "Stop…", Form: path("stop"), Tone: pages.Bad}}
	}
	p.Body = body
	return nil
}

// supervisorActs are what is done to the supervisor of this process.
func (a *App) supervisorActs() []act {
	to := func() string { return a.book().Link("supervisors") }
	with := func(do func(*Call, supervisor.Snapshot) (string, error)) func(*Call) (string, string, error) {
		return func(c *Call) (string, string, error) {
			if a.o.Supervisor == nil {
				return "", "", errNoSupervisor
			}
			told, err := do(c, a.o.Supervisor.Snapshot())
			return told, to(), err
		}
	}
	sure := func(verb, says string) func(*Call) (pages.Form, error) {
		return func(*Call) (pages.Form, error) {
			shot, is := a.shot()
			if !is {
				return pages.Form{}, errNoSupervisor
			}
			return pages.Form{Heading: verb + " the supervisor", Says: []string{says, sentence(ops.RunOn(shot))}, Action: a.o.Prefix + "/supervisors/" + strings.ToLower(verb), Label: verb, Danger: true, Back: to()}, nil
		}
	}
	return []act{
		{path: "/supervisors/quiet", does: "quiet", local: true, do: with(func(c *Call, shot supervisor.Snapshot) (string, error) {
			return ops.Quiet(c.R.Context(), a.o.Supervisor, shot)
		})},
		{path: "/supervisors/resume", does: "resume", local: true, do: with(func(c *Call, shot supervisor.Snapshot) (string, error) {
			return ops.ResumeTaking(c.R.Context(), a.o.Supervisor, shot)
		})},
		{path: "/supervisors/reload", does: "reload", local: true, do: with(func(c *Call, _ supervisor.Snapshot) (string, error) {
			a.o.Supervisor.Reload(c.Who.Name)
			return "the configuration was read anew; the log says what changed", nil
		})},
		{path: "/supervisors/drain", does: "drain", local: true, form: sure("Drain", "It takes no more jobs, finishes what runs, without a limit, and leaves. Nothing starts it again but whoever did so before."),
			do: with(a.leaving("drain", "draining: it leaves when what runs has finished"))},
		{path: "/supervisors/stop", does: "stop", local: true, form: sure("Stop", "It takes no more jobs, finishes what runs within drain_timeout, gives the rest back uncounted, and leaves."),
			do: with(a.leaving("stop", "stopping: it leaves when what runs has finished, at the latest after drain_timeout"))},
	}
}
