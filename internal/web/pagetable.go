package web

import (
	"context"
	"slices"

	"oarlock/internal/rollcall"
	"oarlock/internal/web/pages"
)

// Others are the supervisors of the namespace, this process' own among them, as rollcall.Caller asks them. Its methods may be
// called by several goroutines at once.
type Others interface {
	Call(ctx context.Context) (rollcall.Roll, error)
	Tail(ctx context.Context, of rollcall.Who, pool string, slot, lines int) (rollcall.Tail, error)
}

// views are all pages.
func (a *App) views() []view {
	return slices.Concat([]view{
		{path: "/{$}", template: "overview", section: "/", fill: a.overviewPage},
		{path: "/supervisors", template: "supervisors", section: "/supervisors", fill: a.supervisorsPage},
		{path: "/help", template: "help", still: true, local: true, fill: a.helpPage},
		{path: "/audit", template: "audit", section: "/audit", still: true, local: true, fill: a.auditPage},
	}, a.hostViews(), a.poolViews(), a.queueViews(), a.keyViews(), a.failureViews(), a.jobViews(), a.parkedViews(), a.doctorViews(), a.listViews(), a.recurringViews(), a.throttleViews(), a.ruleViews(), a.entryViews())
}

// acts are all deeds of pages.
func (a *App) acts() []act {
	return slices.Concat(a.supervisorActs(), a.poolActs(), a.queueActs(), a.keyActs(), a.jobActs(), a.parkedActs(), a.doctorActs(), a.chosenActs(), a.bulkActs(), a.listActs(), a.recurringActs(), a.throttleActs(), a.ruleActs(), a.entryActs())
}

// helpPage tells the keys, and what the words mean.
func (a *App) helpPage(c *Call, p *pages.Page) error {
	p.Title = "Help and keys"
	to := "off"
	if !p.Keys {
		to = "on"
	}
	href, _ := pages.Query(a.o.Prefix+"/prefer", "keys", to, "back", "/help")
	p.Body = pages.Help{Switch: href, Keys: []pages.Fact{
		{Name: "/", Value: "search"}, {Name: "g o", Value: "Overview"}, {Name: "g p", Value: "Pools"}, {Name: "g q", Value: "Queues"},
		{Name: "g f", Value: "Failures"}, {Name: "g s", Value: "Supervisors"}, {Name: "g r", Value: "Recurring"},
		{Name: "j k", Value: "next row, row before"}, {Name: "Enter", Value: "open what is chosen"}, {Name: "x", Value: "mark the row"},
		{Name: ".", Value: "hold what is live, go on"}, {Name: "r", Value: "load the page anew"}, {Name: "?", Value: "this page"},
	}, Words: []pages.Fact{
		{Name: "pool", Value: "children that run one command for some queues"}, {Name: "slot", Value: "a place for one child of a pool"},
		{Name: "generation, roll", Value: "what children are started from; the change from one to the next, slot by slot"},
		{Name: "lease", Value: "until when we may act on a lock, by our own clock"}, {Name: "lag", Value: "for how long nothing but a free child has been missing to the next job"},
		{Name: "quiet", Value: "takes no more jobs; what runs goes on"}, {Name: "drain", Value: "quiet, then finish what is in flight and leave"},
		{Name: "empties in", Value: "what waits now, by how it became less in the last five minutes"}, {Name: "remaining, crashes", Value: "retries that are left; deaths of children, which cost none"},
	}}
	return nil
}

// auditPage tells the last deeds.
func (a *App) auditPage(c *Call, p *pages.Page) error {
	p.Title = "Audit"
	var rows []pages.Done
	for _, d := range a.deeds.newest() {
		row := pages.Done{At: d.At, Who: d.Who, From: d.From, Action: d.Action, What: d.What, Result: d.Result, Good: d.Result == "done"}
		if d.Count > 1 {
			row.Count = wholeWords(float64(d.Count))
		}
		rows = append(rows, row)
	}
	p.Body = pages.Deeds{Rows: rows}
	return nil
}
