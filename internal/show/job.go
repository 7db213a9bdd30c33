// Package show is how the values of ops, explain, doctor and service look as text: tables, sentences and bars for
// people. It owns those words and columns, and nothing that lasts; it writes by screen alone, so that no text
// plays a terminal. It must not know the command line, and asks neither Redis nor a supervisor.
package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// Job shows a job the way a person asks: what and where it is, why it failed, what
// was seen of its last bad attempt, and what happened to it. now is in seconds since the epoch.
func Job(w io.Writer, job *ops.Job, now float64) {
	line := func(name string, value any) {
		if value != "" {
			screen.Printf(w, "%-13s %s\n", name, value)
		}
	}
	colour := map[string]string{"failed": screen.Red, "stalled": screen.Red, "complete": screen.Green, "running": screen.Cyan}[job.State]
	if colour == "" {
		colour = screen.Yellow
	}
	line("job", job.JID)
	line("klass", job.Klass)
	line("state", screen.Paint(w, colour, job.State))
	line("queue", job.Queue)
	if job.Damage != "" {
		line("damage", screen.Paint(w, screen.Red, job.Damage))
	}
	if job.State == "running" {
		line("worker", job.Worker)
		line("lock", explain.LockWords(now, job.Expires))
	}
	if job.State == "parked" {
		line("waits", "for an answer to "+screen.InShell(job.Correlation)+", until "+explain.DueWords(now, job.Due))
	} else {
		line("correlation", job.Correlation)
	}
	line("answer", map[string]string{"came": "it came, and the next attempt is told", "given": "an attempt was told of it"}[job.Answered])
	line("trace", job.TraceID())
	line("output", whereItPrinted(job))
	line("merges", string(job.Merge))
	payloads(w, job)
	line("priority", fmt.Sprint(job.Priority))
	if job.Attempt > 0 {
		line("attempt", fmt.Sprint(job.Attempt))
	}
	line("retries", fmt.Sprintf("%d left of %d%s", max(job.Remaining, 0), job.Retries, notRetried(job)))
	line("tags", strings.Join(job.Tags, " "))
	if line("key", job.Key); job.Turn != nil {
		line("turn", job.TurnWords())
		if job.Turn.Holder != job.JID {
			line("has the turn", job.Turn.Holder)
		}
	}
	line("wants", job.WantsWords())
	line("throttles", strings.Join(job.Throttles, " "))
	line("waits for", firstOfMany(job.Dependencies, job.DependsOn))
	line("waited for by", firstOfMany(job.Dependents, job.DependedOn))
	line("made by", job.SpawnedFrom)
	if job.Crashes+job.Interruptions+job.Spared > 0 {
		line("beside that", fmt.Sprintf("%d crashes, %d interruptions, %d bad endings that it was spared", job.Crashes, job.Interruptions, job.Spared))
	}
	if job.Deaths > 0 {
		line("deaths", fmt.Sprintf("%d of supervisors that had it, since it last ended otherwise", job.Deaths))
	}
	line("checkpoint", screen.Shorten(string(job.Checkpoint), 400))
	if failed := job.Failed(); failed.Group != "" {
		screen.Printf(w, "\n%s %s, %s\n  %s\n", screen.Paint(w, screen.Red, "failure"), failed.Group, screen.Moment(failed.When), screen.Lines(strings.ReplaceAll(failed.Message, "\n", "\n  ")))
	}
	Record(w, job.Record)
	screen.PrintLine(w)
	History(w, job.History)
}

// notRetried says why a job that has failed does not use the retries that it has left.
func notRetried(job *ops.Job) string {
	if why := job.NotRetried(); why != "" {
		return "; not used: " + why
	}
	return ""
}

// payloads shows the data of a job; of one that merges, each of its payloads with its score, which is the time of its put where that named none.
func payloads(w io.Writer, job *ops.Job) {
	all := job.Payloads()
	if len(all) == 0 {
		screen.Printf(w, "%-13s %s\n", "data", screen.Shorten(job.Payload(), 400))
		return
	}
	for i, one := range all {
		name := ""
		switch {
		case i == 0:
			name = "data"
		case i == mostPayloads:
			screen.Printf(w, "%-13s … and %s more\n", "", screen.Count(len(all)-i))
			return
		}
		screen.Printf(w, "%-13s %s  (%s)\n", name, screen.Shorten(string(one), 200), score(job.Scores[i]))
	}
}

// mostPayloads is how many payloads of a job are shown.
const mostPayloads = 50

// score is a score for people: as a moment, where it looks like one of these years.
func score(s float64) string {
	if s > 1e9 && s < 5e9 {
		return screen.Moment(s)
	}
	return "score " + strconv.FormatFloat(s, 'g', -1, 64)
}

// Record tells the story of the last attempt that did not end well, and its last words.
func Record(w io.Writer, text json.RawMessage) {
	var r supervisor.Record
	if len(text) == 0 || json.Unmarshal(text, &r) != nil {
		return
	}
	screen.Printf(w, "\n%s\n", screen.Paint(w, screen.Bold, "The last attempt that did not end well"))
	for _, sentence := range explain.Record(r) {
		screen.Printf(w, "  %s\n", screen.Lines(strings.ReplaceAll(sentence, "\n", "\n    ")))
	}
	for _, stream := range []struct{ name, text string }{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		if stream.text != "" {
			screen.Printf(w, "  Its last words on %s:\n%s\n", stream.name, screen.Lines(indent(stream.text)))
		}
	}
}

// History lists what happened to a job.
func History(w io.Writer, told []explain.Entry) {
	for _, e := range told {
		more := make(map[string]json.RawMessage)
		for name, value := range e.More {
			if name != "oarlock" && (name != "record" || e.What != "replaced") && e.What != "parked" && e.What != "window" {
				more[name] = value
			}
		}
		screen.Printf(w, "%s  %s", screen.Moment(e.When), e.Says)
		if len(more) > 0 {
			screen.Printf(w, " %s", screen.Paint(w, screen.Dim, screen.Compact(more)))
		}
		screen.PrintLine(w)
	}
}

// indent is text of several lines, each behind blanks.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// Lines shows texts, one a line; empty is what it says if there is none.
func Lines(w io.Writer, empty string, texts []string) {
	if len(texts) == 0 {
		screen.PrintLine(w, empty)
	}
	for _, text := range texts {
		screen.PrintLine(w, text)
	}
}

// Amended says what became of jobs that were to be changed.
func Amended(w io.Writer, a ops.Amended) {
	screen.Printf(w, "%s %s\n", screen.Some(len(a.Done), "job"), a.Deed)
	for _, jid := range slices.Sorted(maps.Keys(a.Merged)) {
		screen.Printf(w, "%s merged with %s, which waits\n", jid, a.Merged[jid])
	}
	if len(a.Changed) > 0 {
		screen.Printf(w, "%s left alone, changed by somebody else since listed: %s\n", screen.Some(len(a.Changed), "job"), firstOf(a.Changed))
	}
}

// Dependencies says what a job waits for.
func Dependencies(w io.Writer, job ops.Job) {
	if len(job.Dependencies) == 0 {
		screen.Printf(w, "%s waits for no job; it is %s\n", job.JID, job.State)
		return
	}
	screen.Printf(w, "%s waits for %s\n", job.JID, firstOfMany(job.Dependencies, job.DependsOn))
}
