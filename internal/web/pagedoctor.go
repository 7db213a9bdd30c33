package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"oarlock/internal/doctor"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
)

// examined is what a doctor found last, for as long as the process lives.
type examined struct {
	looking sync.Mutex // held while one looks: one at a time is enough

	mu       sync.Mutex
	findings []doctor.Finding
	at       time.Time // zero: nobody has looked yet
	over     error     // why it was not looked to the end; nil if it was
}

// The bounds of a look: how long it may take, and how many jobs are looked at one by one. Each look walks through all of
// them, and must take nothing from those who work.
const (
	examinePatience = 15 * time.Second
	examineJobs     = 100_000
)

// doctorViews are the page of what is found.
func (a *App) doctorViews() []view {
	return []view{{path: "/doctor", template: "doctor", section: "/doctor", still: true, fill: a.doctorPage}}
}

func (a *App) doctorPage(c *Call, p *pages.Page) error {
	p.Title = "Doctor"
	a.head(c, p)
	e := &a.examined
	e.mu.Lock()
	defer e.mu.Unlock()
	body := pages.Doctor{Elsewhere: "`oarlock doctor` on a host looks at that host, too: at how children are killed there, how many it has room for, its unit."}
	if p.Write {
		body.Deeds = []pages.Deed{{Label: "Look now", Action: a.book().Link("doctor"), Tone: pages.Good}}
	}
	if !e.at.IsZero() {
		body.At = float64(e.at.UnixMilli()) / 1e3
		body.Ago = pages.Ago(time.Since(e.at).Seconds())
	}
	if e.over != nil {
		body.Over = "It was not looked to the end: " + sentence(e.over.Error())
	}
	bad := 0
	for _, f := range slices.SortedStableFunc(slices.Values(e.findings), func(x, y doctor.Finding) int { return cmp.Compare(rankOf(x.Level), rankOf(y.Level)) }) {
		row := pages.Finding{Subject: f.Subject, Text: f.Text, Tone: toneOf(f.Level), Word: string(f.Level)}
		row.Advice, row.Command = commandIn(f.Advice)
		body.Rows = append(body.Rows, row)
		if rankOf(f.Level) < rankOf(doctor.Note) {
			bad++
		}
	}
	body.Says = "Nothing that was looked at could lose jobs or hold them up."
	if bad > 0 {
		body.Says = fmt.Sprintf("%s that could lose jobs, hold them up, or will some day; the worst first.", screen.Some(bad, "thing"))
	}
	p.Body = body
	return nil
}

// rankOf puts the worst first.
func rankOf(l doctor.Level) int {
	return slices.Index([]doctor.Level{doctor.Bad, doctor.Warning, doctor.Fixed, doctor.Note, doctor.OK}, l)
}

func toneOf(l doctor.Level) pages.Tone {
	switch l {
	case doctor.Bad:
		return pages.Bad
	case doctor.Warning:
		return pages.Warn
	case doctor.OK, doctor.Fixed:
		return pages.Good
	}
	return pages.Plain
}

// commandIn parts an advice that begins with a command of ours from the command.
func commandIn(advice string) (text, command string) {
	if command, text, is := strings.Cut(advice, ": "); is && strings.HasPrefix(command, "oarlock ") {
		return text, command
	}
	return advice, ""
}

// doctorActs are the look itself: it changes nothing, but costs Redis some time.
func (a *App) doctorActs() []act {
	return []act{{path: "/doctor", does: "examine", do: func(c *Call) (string, string, error) {
		e := &a.examined
		if !e.looking.TryLock() {
			return "", "", problem(http.StatusServiceUnavailable, "busy", "somebody has it looked at just now; what is found stands on the page of the doctor in a moment")
		}
		defer e.looking.Unlock()
		findings, err := a.examine(c.R.Context())
		if len(findings) == 0 && err != nil {
			return "", "", err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.findings, e.at, e.over = findings, time.Now(), err
		return "it was looked at", a.book().Link("doctor"), nil
	}}}
}

// examine looks at Redis and at what is kept in it, and changes nothing.
func (a *App) examine(ctx context.Context) (findings []doctor.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, examinePatience)
	defer cancel()
	all, _, err := a.counted(ctx)
	if err != nil {
		return nil, err
	}
	jobs := 0
	for i := range all {
		q := &all[i]
		jobs += q.Waiting + q.Running + q.Stalled + q.Scheduled + q.Depends + q.Throttled
	}
	d := &doctor.Doctor{Client: a.o.Redis, Report: func(f doctor.Finding) { findings = append(findings, f) }}
	if jobs <= examineJobs {
		err = d.Redis(ctx, a.working, a.lists())
	} else {
		err = errors.Join(d.Server(ctx), d.Settings(ctx), d.Crons(ctx), d.Lists(ctx, a.lists()), d.Unserved(ctx, a.working))
		d.Report(doctor.Finding{Subject: "keys", Level: doctor.Note, Advice: "oarlock doctor: from a shell it takes its time",
			Text: fmt.Sprintf("There are %s: they were not looked at one by one.", screen.Some(jobs, "job"))})
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it took longer than %v; `oarlock doctor` takes its time", examinePatience)
	}
	return findings, err
}

// lists are those that this process works or takes in, as of doctor.Doctor.Lists; their timeouts are not known here.
func (a *App) lists() map[string]time.Duration {
	names := map[string]time.Duration{}
	for _, name := range a.ownLists() {
		names[name] = 0
	}
	return names
}

// working are the pools of this process that work a queue.
func (a *App) working(queueName string) []string {
	shot, _ := a.shot()
	var names []string
	for _, pool := range shot.Pools {
		if worksQueue(pool, queueName) {
			names = append(names, pool.Name)
		}
	}
	return names
}
