package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// parkedViews are the pages of jobs that wait for an answer.
func (a *App) parkedViews() []view {
	return []view{{path: "/parked", template: "parked", section: "/parked", still: true, fill: a.parkedPage}}
}

func (a *App) parkedPage(c *Call, p *pages.Page) error {
	p.Title = "Parked jobs"
	a.head(c, p)
	query := c.R.URL.Query()
	body := pages.ParkedPage{Queue: query.Get("queue")}
	scheduled, err := a.scheduledIn(c.R.Context(), body.Queue)
	if err != nil {
		return err
	}
	found, err := ops.ParkedIn(c.R.Context(), a.o.Redis, scheduled, ops.Window{Cursor: query.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	looks := a.readOnly(c)
	var names []string
	for _, job := range found.Items {
		row := pages.Parked{JID: job.JID, Klass: job.Klass, Queue: job.Queue, Correlation: job.Correlation, Deadline: job.Due, Left: "in " + pages.Span(job.Due-found.AsOf)}
		if row.Late = job.Due <= found.AsOf; row.Late {
			row.Left = "in vain: it is over, and the next child that is free fails it"
		}
		row.Deeds = a.parkedDeeds(job, c.Who.MayRespond(job.Klass) && !looks, p.Write)
		if cancel := a.book().Link("jobs", job.JID, "cancel"); p.Write && cancel != "" {
			row.Deeds = append(row.Deeds, pages.Deed{Label: "Cancel…", Form: cancel, Tone: pages.Bad})
		}
		body.Rows, names = append(body.Rows, row), append(names, job.JID)
	}
	body.Print = printOf(names)
	if found.Total > 0 {
		body.Looked = fmt.Sprintf("%s parked, of %s looked at; %s scheduled or parked in all", screen.Count(len(body.Rows)), screen.Count(found.LookedAt), screen.Some(found.Total, "job"))
	}
	here, _ := pages.Query(a.book().Link("parked"), "queue", body.Queue)
	if query.Get("cursor") != "" {
		body.First = here
	}
	if found.Next != "" {
		body.Next, _ = pages.Query(here, "cursor", found.Next)
	}
	p.Body = body
	return nil
}

// recounted is how many queues are counted anew for a page; of more the last census is good enough.
const recounted = 4 * fewQueues

// scheduledIn is how many jobs are scheduled, or parked, in each of the queues that a glob matches; in all with "".
func (a *App) scheduledIn(ctx context.Context, glob string) (map[string]int, error) {
	names, err := a.o.Redis.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	var counts []queue.QueueCensus
	if len(names) <= recounted {
		counts, _, err = a.o.Redis.Census(ctx, names)
	} else {
		counts, _, err = a.counted(ctx)
	}
	scheduled := map[string]int{}
	for i := range counts {
		if q := &counts[i]; glob == "" || queue.Match(glob, q.Name) {
			scheduled[q.Name] = q.Scheduled
		}
	}
	return scheduled, err
}

// parkedDeeds are the buttons of a parked job beside those of any.
func (a *App) parkedDeeds(job ops.Job, answers, writes bool) []pages.Deed {
	link := func(deed string) string { return a.book().Link("jobs", job.JID, deed) }
	var deeds []pages.Deed
	if answers && link("") != "" {
		deeds = append(deeds, pages.Deed{Label: "Answer…", Form: link("answer"), Tone: pages.Good}, pages.Deed{Label: "Fail…", Form: link("unanswered"), Tone: pages.Bad})
	}
	if writes && link("") != "" {
		deeds = append(deeds, pages.Deed{Label: "Wait longer…", Form: link("extend")})
	}
	return deeds
}

// parkedActs are what is done to them.
func (a *App) parkedActs() []act {
	answer := a.asking(a.onJob("answer", "respond", a.answerJob), func(jid string) pages.Form {
		return pages.Form{Heading: "Answer " + jid, Says: []string{"The first answer counts. The next attempt of the job is told of it, at once if a child is free."}, Label: "Answer", Asks: []pages.Ask{
			{Name: "data", Label: "answer, as JSON", Kind: "area", Hint: "quote texts, as in {\"paid\": true}; empty is null"},
			{Name: "error", Label: "or why there is none", Hint: "the job is told this, and no answer"},
			{Name: "end", Label: "then the job", Choices: []pages.Choice{{Value: "", Text: "goes on: its next attempt is told"}, {Value: string(queue.EndsComplete), Text: "is complete, and no child sees the answer"}, {Value: string(queue.EndsFailed), Text: "has failed, likewise"}}},
		}}
	})
	fail := a.asking(a.onJob("unanswered", "fail parked job", func(ctx context.Context, c *Call, jid string) (string, error) {
		if err := a.stillParked(ctx, c, jid, c.Who.MayRespond); err != nil {
			return "", err
		}
		_, err := ops.FailParked(ctx, a.o.Redis, []string{jid}, c.R.PostFormValue("error"))
		return "it fails with the next look of a supervisor that works its queue", err
	}), func(jid string) pages.Form {
		return pages.Form{Heading: "Fail " + jid, Says: []string{"There will be no answer: no child is told, and the job has failed."}, Label: "Fail", Danger: true,
			Asks: []pages.Ask{{Name: "error", Label: "why", Hint: "stands with the failed job"}}}
	})
	answer.right, fail.right = Respond, Respond
	return []act{answer, fail, a.extendAct()}
}

// stillParked refuses a job that waits for no answer any more, and one of a class that is not for the caller; nil: all are. It
// tells how a job is, so the caller must be one who may look.
func (a *App) stillParked(ctx context.Context, c *Call, jid string, may func(klass string) bool) error {
	if !c.Who.May(Read) {
		return noRight(c.Who, Read)
	}
	job, err := ops.Glance(ctx, a.o.Redis, jid)
	if err == nil && may != nil && !may(job.Klass) {
		return problem(http.StatusForbidden, "no_right", "you may answer no parked job of class %s", shown(job.Klass))
	}
	if err == nil && job.State != "parked" {
		err = problem(http.StatusConflict, "changed", "%s waits for no answer; it is %s", shown(jid), job.State)
	}
	return err
}

// extendAct lets a parked job wait longer.
func (a *App) extendAct() act {
	return a.asking(a.onJob("extend", "extend park of job", func(ctx context.Context, c *Call, jid string) (string, error) {
		text := strings.ReplaceAll(c.R.PostFormValue("timeout"), " ", "")
		wait, err := time.ParseDuration(text)
		if err != nil {
			return "", badField("timeout", "%q is no duration; one is 2h30m", shown(text))
		}
		if err := a.stillParked(ctx, c, jid, nil); err != nil {
			return "", err
		}
		extended, err := ops.ExtendParked(ctx, a.o.Redis, []string{jid}, wait)
		return "it waits for " + pages.Span(extended.Until-a.o.Redis.Now()) + " from now", err
	}), func(jid string) pages.Form {
		return pages.Form{Heading: "How long " + jid + " waits", Label: "Wait", Asks: []pages.Ask{{Name: "timeout", Label: "from now", Hint: "such as 2h30m; then it has waited in vain", Wanted: true}}}
	})
}

// answerJob answers the job that the path names, and no other that has its correlation meanwhile. It is for who looks at that, too.
func (a *App) answerJob(ctx context.Context, c *Call, jid string) (string, error) {
	if !c.Who.May(Read) {
		return "", noRight(c.Who, Read)
	}
	job, err := ops.Glance(ctx, a.o.Redis, jid)
	if err != nil {
		return "", err
	}
	if !c.Who.MayRespond(job.Klass) {
		return "", mayNotRespond(c, job.Klass)
	}
	if job.Correlation == "" {
		return "", problem(http.StatusConflict, "changed", "%s waits for no answer; it is %s", shown(jid), job.State)
	}
	r := queue.Response{Klass: job.Klass, Correlation: job.Correlation, JID: jid, Error: c.R.PostFormValue("error"), End: queue.AnswerEnd(c.R.PostFormValue("end"))}
	data := strings.TrimSpace(c.R.PostFormValue("data"))
	switch {
	case r.Error != "" && data != "":
		return "", badField("error", "there is an answer, too; give one of them")
	case r.Error == "":
		r.Data = []byte(cmp.Or(data, "null"))
		if err := ops.CheckJSON(r.Data); err != nil {
			return "", badField("data", "%s is no JSON: %v; quote texts, as in {\"paid\": true}", shown(data), err)
		}
	}
	answered, err := ops.Respond(ctx, a.o.Redis, r)
	if err != nil {
		return "", err
	}
	switch answered.Word {
	case queue.Again:
		return "", problem(http.StatusConflict, "changed", "%s was answered already, and the first answer counts; nothing was done", shown(jid))
	case queue.Late:
		return "", problem(http.StatusConflict, "changed", "%s waits for no answer any more: it is over, or another job has its correlation; nothing was done", shown(jid))
	case queue.KeptFor:
		return "the answer is kept for its next attempt", nil
	}
	return "it is answered, and the next of its queue", nil
}
