package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// listPage is how many jobs are read at a time, where a glob chooses among them.
const listPage = 200

// lists are those of jobs that no queue has.
var lists = []string{"tracked", "complete"}

func jobListVerb() verb {
	return verb{name: "ls", usage: "list the tracked jobs, or those that are complete, newest first; GLOB is of a jid or class", words: "tracked|complete [GLOB]",
		least: 1, most: 2, flags: windowFlags(), do: jobList}
}

func jobList(c *cli.Context, q *queue.Client) error {
	which, glob := c.Args().First(), c.Args().Get(1)
	var jobs []queue.Job
	var gone []string
	var more bool
	var err error
	switch which {
	case "tracked":
		jobs, gone, more, err = trackedJobs(c, q, glob)
	case "complete":
		jobs, more, err = completeJobs(c, q, glob)
	default:
		return misused("name one of %s; other jobs are listed by `oarlock queue show`, `queue peek` and `failed ls`", strings.Join(lists, ", "))
	}
	if err != nil {
		return err
	}
	value := map[string]any{"jobs": viewJobs(jobs), "more": more}
	if which == "tracked" {
		value["gone"] = list(gone)
	}
	return show(c, value, func(w io.Writer) {
		printJobs(w, "No job like that is "+which+".", jobs)
		if len(gone) > 0 {
			screen.Printf(w, "tracked and gone: %v\n", gone)
		}
		if more {
			screen.PrintLine(w, "There are more; --offset and --limit show them.")
		}
	})
}

// chosenBy reports whether a glob means a job; "" means all.
func chosenBy(glob string, job queue.Job) bool {
	return glob == "" || queue.Match(glob, job.JID) || queue.Match(glob, job.Klass)
}

// trackedJobs reads all, for there are few, and returns the window of those that are meant.
func trackedJobs(c *cli.Context, q *queue.Client, glob string) (jobs []queue.Job, gone []string, more bool, err error) {
	all, expired, err := q.Tracked(c.Context)
	if err != nil {
		return nil, nil, false, err
	}
	w := pageOf{offset: c.Int("offset"), limit: c.Int("limit")}
	for _, job := range all {
		if chosenBy(glob, job) {
			w.add(job)
		}
	}
	for _, jid := range expired {
		if glob == "" || queue.Match(glob, jid) {
			gone = append(gone, jid)
		}
	}
	return w.jobs, gone, w.more, nil
}

// completeJobs reads as far as the window goes.
func completeJobs(c *cli.Context, q *queue.Client, glob string) (jobs []queue.Job, more bool, err error) {
	w := pageOf{offset: c.Int("offset"), limit: c.Int("limit")}
	for at := 0; !w.more; at += listPage {
		jids, err := q.Jobs(c.Context, "complete", "", at, listPage)
		if err != nil || len(jids) == 0 {
			return w.jobs, w.more, err
		}
		found, err := q.GetMany(c.Context, jids...)
		if err != nil {
			return nil, false, err
		}
		for _, job := range found {
			if chosenBy(glob, job) {
				w.add(job)
			}
		}
	}
	return w.jobs, w.more, nil
}

// pageOf is a part of a list.
type pageOf struct {
	offset, limit int
	jobs          []queue.Job
	more          bool // there is something behind it
}

func (w *pageOf) add(job queue.Job) {
	switch {
	case w.offset > 0:
		w.offset--
	case len(w.jobs) < w.limit:
		w.jobs = append(w.jobs, job)
	default:
		w.more = true
	}
}
