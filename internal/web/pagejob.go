package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// mostRelated is how many jobs are shown that a job waits for, or that wait for it.
const mostRelated = 50

// jobViews is the page of a job.
func (a *App) jobViews() []view {
	return []view{{path: "/jobs/{jid}", template: "job", fill: a.jobPage}}
}

func (a *App) jobPage(c *Call, p *pages.Page) error {
	jid, ctx := c.Name("jid"), c.R.Context()
	p.Title = jid + " · Job"
	w := a.head(c, p)
	job, err := ops.Glance(ctx, a.o.Redis, jid)
	if err != nil {
		return err
	}
	now := a.o.Redis.Now()
	body := pages.Job{
		JID: job.JID, Klass: job.Klass, Queue: job.Queue, State: job.State, Says: jobWords(job, now), Damage: job.Damage, Tags: job.Tags, Throttles: job.Throttles,
		Print: printOf([]string{job.State, job.Queue, fmt.Sprint(len(job.History))}), Asks: asks(job.State), Facts: a.jobFacts(job, now), Story: a.storyOf(job, now),
	}
	a.jobData(job, &body)
	for _, e := range slices.Backward(job.History) {
		body.History = append(body.History, moment(e, now, beginning(a.hide(e.Says), mostHistory)))
	}
	hold, err := a.sources().Why(ctx, jid)
	switch {
	case errors.Is(err, queue.ErrNoJob): // it went just now
		return err
	case err != nil:
		return err
	}
	body.Why = a.reasons(hold, p.Write)
	if body.DependsOn, err = a.related(ctx, job.Dependencies, now); err != nil {
		return err
	}
	if body.Dependents, err = a.related(ctx, job.Dependents, now); err != nil {
		return err
	}
	if body.Runs, body.Log = a.runsHere(jid); body.Runs == nil && job.State == "running" {
		body.Runs, body.Log = a.runsElsewhere(ctx, w.roll, jid)
	}
	if job.State == "parked" && c.Who.MayRespond(job.Klass) && !a.readOnly(c) {
		body.Deeds = a.parkedDeeds(job, true, p.Write)
		if len(body.Why) > 0 {
			body.Why[0].Deeds = body.Deeds
		}
	}
	if p.Write {
		body.Deeds = append(body.Deeds, a.jobDeeds(job)...)
	}
	p.Body = body
	return nil
}

// asks is what is said over the reasons.
func asks(state string) string {
	switch state {
	case "running", "stalled":
		return "Who has it"
	case "failed":
		return "Why it stands still"
	case "complete":
		return "What holds it"
	}
	return "Why it does not run"
}

// jobWords is a job in one line.
func jobWords(job ops.Job, now float64) string {
	switch job.State {
	case "failed":
		f := job.Failed()
		return fmt.Sprintf("It failed as %s, %s.", screen.Shorten(f.Group, 80), pages.Ago(now-f.When))
	case "scheduled":
		if job.Due > 0 {
			return "It is due in " + pages.Span(max(0, job.Due-now)) + "."
		}
	case "parked":
		return fmt.Sprintf("It waits for an answer to %s, for %s yet.", screen.Shorten(job.Correlation, 80), pages.Span(max(0, job.Due-now)))
	case "running":
		return "It runs on " + screen.Shorten(job.Worker, 80) + "."
	case "stalled":
		return "Its lock ran out " + pages.Ago(now-job.Expires) + "."
	case "complete":
		if n := len(job.History); n > 0 {
			return "It was completed " + pages.Ago(now-job.History[n-1].When) + "."
		}
	}
	return ""
}

// jobFacts are what is known of a job in numbers.
func (a *App) jobFacts(job ops.Job, now float64) []pages.Fact {
	var facts []pages.Fact
	if job.Attempt > 0 {
		attempt := strconv.Itoa(job.Attempt)
		if job.State != "failed" {
			attempt += fmt.Sprintf(" of %d", job.Retries+1+job.Crashes)
		}
		facts = append(facts, pages.Fact{Name: "attempt", Value: attempt})
	}
	left := fmt.Sprintf("%d of %d", max(job.Remaining, 0), job.Retries)
	if why := job.NotRetried(); why != "" {
		left += "; not used: " + why
	}
	facts = append(facts, []pages.Fact{
		{Name: "retries left", Value: left},
		{Name: "priority", Value: strconv.FormatFloat(job.Priority, 'f', -1, 64)},
	}...)
	add := func(is bool, name, value string) {
		if is {
			facts = append(facts, pages.Fact{Name: name, Value: value})
		}
	}
	add(job.Crashes > 0, "crashes", strconv.Itoa(job.Crashes))
	add(job.Interruptions > 0, "interruptions", strconv.Itoa(job.Interruptions))
	add(job.Deaths > 0, "supervisors that died with it", strconv.Itoa(job.Deaths))
	add(job.Spared > 0, "endings that cost it nothing", strconv.Itoa(job.Spared))
	add(job.Timeout > 0, "timeout of its own", pages.Span(job.Timeout))
	add(job.Merge != "", "merges", string(job.Merge)+payloadWords(job))
	add(job.WantsWords() != "", "wants", job.WantsWords())
	add(job.Correlation != "", "correlation", job.Correlation)
	add(job.TraceParent != "", "trace", job.TraceID())
	add(job.Answered != "", "answer", map[string]string{"came": "came; its next attempt is told", "given": "an attempt was told it"}[job.Answered])
	add(job.Expires > 0, "lock ends", pages.Span(max(0, job.Expires-now))+" from now")
	add(job.Tracked, "tracked", "yes: what happens to it is published")
	if job.Key != "" {
		href := a.book().Link("queues", job.Queue, "keys", job.Key)
		if job.State == "failed" {
			href, _ = pages.Query(a.book().Link("search"), "q", ops.Term("key", job.Key))
		}
		facts = append(facts, pages.Fact{Name: "key", Value: job.Key, Href: href})
	}
	if t := job.Turn; t != nil {
		facts = append(facts, pages.Fact{Name: "turn", Value: job.TurnWords()})
		if t.Holder != job.JID && t.Holder != "" {
			facts = append(facts, pages.Fact{Name: "has the turn", Value: t.Holder, Href: a.book().Link("jobs", t.Holder)})
		}
	}
	if job.Worker != "" {
		facts = append(facts, pages.Fact{Name: "worker", Value: job.Worker, Href: a.book().Link("workers", job.Worker)})
	}
	if job.SpawnedFrom != "" {
		facts = append(facts, pages.Fact{Name: "a run of", Value: job.SpawnedFrom, Href: a.book().Link("recurring", job.SpawnedFrom)})
	}
	return facts
}

// jobData shows the data and the checkpoint of a job, without what is secret.
func (a *App) jobData(job ops.Job, body *pages.Job) {
	text := job.Payload()
	body.DataSize = max(job.Size, len(text))
	if job.Size > 0 {
		var cut string
		_ = json.Unmarshal(job.Data, &cut) // of what we made: a string
		text = cut
		body.DataCut = fmt.Sprintf("These are the first %s of %s. `oarlock job show %s --json` prints all.", pages.Bytes(len(cut)), pages.Bytes(job.Size), screen.InShell(job.JID))
		if cut == "" {
			body.DataCut = fmt.Sprintf("It is too big to be shown: %s. `oarlock job show %s --json` prints it.", pages.Bytes(job.Size), screen.InShell(job.JID))
		}
	}
	text, body.Redacted = a.redacted(text)
	body.Data = pretty(text)
	checkpoint, _ := a.redacted(string(job.Checkpoint))
	body.Checkpoint = pretty(checkpoint)
}

// pretty is JSON with line breaks; what is none stays as it is.
func pretty(text string) string {
	var out bytes.Buffer
	if len(text) > 64<<10 || json.Indent(&out, []byte(text), "", "  ") != nil || out.Len() > 128<<10 {
		return text
	}
	return out.String()
}

// moment is an entry of a history.
func moment(e explain.Entry, now float64, says string) pages.Moment {
	m := pages.Moment{At: e.When, Ago: pages.Ago(now - e.When), What: e.What, Says: says, Inferred: e.Inferred}
	at := time.UnixMilli(int64(e.When * 1e3)).Local()
	if name, offset := at.Zone(); offset != 0 && e.When > 0 && e.When < screen.NoYear {
		m.Local = at.Format("15:04:05 ") + name
	}
	return m
}

// related are the jobs of jids, as rows.
func (a *App) related(ctx context.Context, jids []string, now float64) ([]pages.JobRow, error) {
	if len(jids) == 0 {
		return nil, nil
	}
	found, err := a.o.Redis.Glances(ctx, queue.Brief, jids[:min(len(jids), mostRelated)]...)
	if err != nil {
		return nil, err
	}
	var rows []pages.JobRow
	for _, g := range found {
		rows = append(rows, a.jobRow(ops.ViewGlance(g), now))
	}
	return rows, nil
}

// sources are where the reasons come from.
func (a *App) sources() explain.Sources {
	return explain.Sources{
		Client: a.o.Redis,
		Host:   func() string { return a.o.Host },
		Supervisor: func(context.Context) (supervisor.Snapshot, error) {
			if shot, is := a.shot(); is {
				return shot, nil
			}
			return supervisor.Snapshot{}, errors.New("no supervisor runs in the process that answers here")
		},
	}
}

// reasons are what holds a job, each with what helps.
func (a *App) reasons(hold explain.Hold, may bool) []pages.Reason {
	all := make([]pages.Reason, len(hold.Reasons))
	for i, text := range hold.Reasons {
		all[i].Text = a.hide(text)
	}
	for _, r := range hold.Remedies {
		if r.Reason < 0 || r.Reason >= len(all) {
			continue
		}
		deed, link := a.remedy(r)
		if link != nil && link.Href != "" {
			all[r.Reason].Links = append(all[r.Reason].Links, *link)
		}
		if deed != nil && may && deed.Action != "" {
			all[r.Reason].Deeds = append(all[r.Reason].Deeds, *deed)
		}
	}
	return all
}

// remedy is a remedy as a button, or as a link to where it is.
func (a *App) remedy(r explain.Remedy) (*pages.Deed, *pages.Link) {
	link := a.book().Link
	switch r.Deed {
	case explain.RetryJob:
		return &pages.Deed{Label: "Retry", Action: link("jobs", r.To, "retry"), Tone: pages.Good}, nil
	case explain.TakeBack:
		return &pages.Deed{Label: "Take it back", Action: link("jobs", r.To, "take-back"), Tone: pages.Good}, nil
	case explain.LookAtJob:
		return nil, &pages.Link{Href: link("jobs", r.To), Text: "see what holds that"}
	case explain.ResumeQueue:
		return &pages.Deed{Label: "Resume the queue", Action: link("queues", r.To, "resume"), Tone: pages.Good}, nil
	case explain.SeeThrottle:
		return nil, &pages.Link{Href: link("throttles", r.To), Text: "see the throttle"}
	case explain.ResumeAll:
		return &pages.Deed{Label: "Resume", Action: a.o.Prefix + "/supervisors/resume", Tone: pages.Good}, nil
	case explain.ResumePool:
		return &pages.Deed{Label: "Resume the pool", Action: link("pools", r.To, "resume"), Tone: pages.Good}, nil
	case explain.RecyclePool:
		return &pages.Deed{Label: "Recycle the pool", Action: link("pools", r.To, "recycle"), Tone: pages.Good}, nil
	case explain.GiveChildren:
		return nil, &pages.Link{Href: link("pools", r.To), Text: "scale the pool"}
	}
	return nil, nil
}

// runsHere is the run of a job on a child of this process, with the last lines of that; nil if it does not run here.
func (a *App) runsHere(jid string) (*pages.Run, []pages.LogLine) {
	shot, is := a.shot()
	if !is {
		return nil, nil
	}
	for _, pool := range shot.Pools {
		for _, slot := range pool.Slots {
			for _, run := range slot.Runs {
				if run.JID != jid {
					continue
				}
				r := runOf(pool.Name, slot, run)
				r.Href = a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot))
				return r, a.lines(pool.Name, slot.Slot, jid)
			}
		}
	}
	return nil, nil
}

// runOf is a run on a child of a pool.
func runOf(pool string, slot supervisor.SlotSnapshot, run supervisor.RunSnapshot) *pages.Run {
	return &pages.Run{Pool: pool, Slot: slot.Slot, PID: slot.PID, Age: run.Age, Left: run.TimeoutLeft, Kept: run.Kept, Done: percentDone(run), Progress: run.Progress}
}

// jobDeeds are the buttons of a job, those that its state has a use for.
func (a *App) jobDeeds(job ops.Job) []pages.Deed {
	link := func(deed string) string { return a.book().Link("jobs", job.JID, deed) }
	if link("") == "" {
		return nil
	}
	var deeds []pages.Deed
	switch job.State {
	case "running", "stalled":
		deeds = append(deeds, pages.Deed{Label: "Take it back", Action: link("take-back")})
	case "scheduled":
		deeds = append(deeds, pages.Deed{Label: "Run now", Action: link("now"), Tone: pages.Good})
	case "failed":
		deeds = append(deeds, pages.Deed{Label: "Retry", Action: link("retry"), Tone: pages.Good})
	case "complete":
		deeds = append(deeds, pages.Deed{Label: "Run again", Action: link("retry")})
	}
	if job.State != "running" && job.State != "parked" { // that one asked for something: it would ask again
		deeds = append(deeds, pages.Deed{Label: "Move…", Form: link("move")})
	}
	track := pages.Deed{Label: "Track", Action: link("track")}
	if job.Tracked {
		track = pages.Deed{Label: "Untrack", Action: link("untrack")}
	}
	deeds = append(deeds, track, pages.Deed{Label: "Tag…", Form: link("tag")}, pages.Deed{Label: "Priority…", Form: link("priority")}, pages.Deed{Label: "Note…", Form: link("note")})
	if job.State == "depends" {
		deeds = append(deeds, pages.Deed{Label: "Waits for…", Form: link("depends")})
	}
	if job.State != "complete" {
		deeds = append(deeds, pages.Deed{Label: "Cancel…", Form: link("cancel"), Tone: pages.Bad})
	}
	return deeds
}

// words are those of a text that are parted by blanks or commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\r' || r == '\t' })
}

// payloadWords says how many payloads a job has that merges.
func payloadWords(job ops.Job) string {
	if len(job.Scores) == 0 {
		return ""
	}
	return ": " + screen.Some(len(job.Scores), "payload") + " so far"
}
