package ops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"oarlock/internal/putline"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Feed puts a job for each line of a text, in batches.
type Feed struct {
	Client  *queue.Client
	Like    queue.Put                 // what the lines do not say
	Whole   bool                      // the lines are whole jobs, not only their data
	KeyFrom func(queue string) string // where the data has the key, for jobs that do not say; see queue.Put
	Saw     func(job queue.Put)       // hears of each job that is put; nil: nobody does
	Force   bool                      // do not stop at a job that depends on one that is not there
	Read    func(bytes int)           // hears how much more was read
	Refused func(line int, why error) // hears of a job that Redis refused, by its line, counted from 1

	fed   Fed
	line  int         // how many were read, empty ones too
	batch []queue.Put // jobs of them that were not put yet
	lines []int       // where each of those is
	held  int         // bytes of data in batch
}

// Fed is what became of the jobs of a text.
type Fed struct {
	Existed int    `json:"existed"` // left alone
	Merged  int    `json:"merged"`  // into jobs that waited, or equal to what those had
	Put     int    `json:"put"`
	Queue   string `json:"queue"` // of the lines that name none
	Refused int    `json:"refused"`

	Replaced int `json:"replaced"` // of those put: a job of their jid was there

	Elsewhere bool `json:"-"` // a line named another queue

	// Unordered says that jobs with a jid of their own and a priority beyond queue.MostOrdered keep no order among themselves.
	Unordered bool                `json:"unordered,omitempty"`
	Few       *queue.ReplicaError `json:"-"` // of the last batch that has one; nil if none has
}

// feedBytes is how much data there is in a batch.
const feedBytes = 1 << 20

// From reads lines to their end. A line that is wrong stops it before any later one is put. One that depends on a job that
// is neither in Redis nor before it does, too; the error is a *Doubt then.
func (f *Feed) From(ctx context.Context, in io.Reader) (Fed, error) {
	f.fed.Queue = f.Like.Queue
	lines := bufio.NewReaderSize(in, 1<<16)
	for last := false; !last; {
		line, err := readLine(lines, queue.MaxData)
		f.line++
		if errors.Is(err, errLong) {
			return f.fed, f.stop(ctx, err)
		}
		if err != nil && err != io.EOF {
			return f.fed, err
		}
		last = err == io.EOF
		f.Read(len(line))
		if text := bytes.TrimSpace(line); len(text) > 0 {
			job, err := putOf(f.Like, text, f.Whole)
			if err != nil {
				return f.fed, f.stop(ctx, err)
			}
			if job.Key == "" && job.KeyFrom == "" {
				job.KeyFrom = f.KeyFrom(job.Queue)
			}
			if f.Saw != nil {
				f.Saw(job)
			}
			f.batch, f.lines, f.held = append(f.batch, job), append(f.lines, f.line), f.held+len(job.Data)
			f.fed.Unordered = f.fed.Unordered || job.JID != "" && job.Priority != nil && math.Abs(*job.Priority) > queue.MostOrdered
			f.fed.Elsewhere = f.fed.Elsewhere || job.Queue != f.Like.Queue
		}
		if len(f.batch) == queue.PutChunk || f.held > feedBytes || last && len(f.batch) > 0 {
			if err := f.send(ctx); err != nil {
				return f.fed, fmt.Errorf("after %s jobs: %w", screen.Count(f.fed.Put), err)
			}
		}
	}
	return f.fed, nil
}

// stop puts what is before the line that was read last, which is wrong.
func (f *Feed) stop(ctx context.Context, why error) error {
	err := f.send(ctx)
	return errors.Join(err, fmt.Errorf("line %d: %w; put before it: %s", f.line, why, screen.Some(f.fed.Put, "job")))
}

// send puts the batch, up to the first job that depends on nothing.
func (f *Feed) send(ctx context.Context) error {
	sound, missing, err := f.dependsOnNothing(ctx)
	if err != nil {
		return err
	}
	results, err := f.Client.PutAll(ctx, f.batch[:sound])
	for i, result := range results {
		switch {
		case result.Err != nil:
			f.fed.Refused++
			f.Refused(f.lines[i], result.Err)
		case result.Existed:
			f.fed.Existed++
		case result.Merged != "":
			f.fed.Merged++
		case result.JID != "":
			f.fed.Put++
			if result.Replaced {
				f.fed.Replaced++
			}
		}
	}
	if errors.As(err, &f.fed.Few) {
		err = nil // they were put
	}
	if err == nil && missing != "" {
		err = &Doubt{fmt.Sprintf("line %d: "+noSuchJob, f.lines[sound], missing)}
	}
	f.batch, f.lines, f.held = f.batch[:0], f.lines[:0], 0
	return err
}

// dependsOnNothing finds the first job of the batch that depends on one that is neither in Redis nor before it
// in the batch, and which; it gives the length of the batch if none does. Those that all jobs depend on
// are not its matter.
func (f *Feed) dependsOnNothing(ctx context.Context) (int, string, error) {
	if f.Force {
		return len(f.batch), "", nil
	}
	ours := map[string]int{} // where each job of the batch is that has a name
	var others []string
	for i, job := range f.batch {
		for _, jid := range job.Depends {
			if _, is := ours[jid]; !is && !slices.Contains(f.Like.Depends, jid) {
				others = append(others, jid)
			}
		}
		if job.JID != "" {
			ours[job.JID] = i
		}
	}
	if len(others) == 0 {
		return len(f.batch), "", nil
	}
	missing, err := notInRedis(ctx, f.Client, sorted(others))
	if err != nil {
		return 0, "", err
	}
	for i, job := range f.batch {
		for _, jid := range job.Depends {
			if at, is := ours[jid]; slices.Contains(missing, jid) && (!is || at >= i) {
				return i, jid, nil
			}
		}
	}
	return len(f.batch), "", nil
}

// errLong says that a line is longer than any job may be.
var errLong = fmt.Errorf("is longer than %s, the most that Redis takes for the data of a job (proto-max-bulk-len)", humanize.IBytes(queue.MaxData))

// readLine reads up to and with the next line feed, or gives errLong once it is longer than most bytes.
func readLine(from *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		some, err := from.ReadSlice('\n')
		line = append(line, some...)
		switch {
		case len(line) > most+1:
			return nil, errLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// putOf makes the job that a line describes, like another.
func putOf(like queue.Put, text []byte, whole bool) (queue.Put, error) {
	if whole {
		return putline.Read(like, text)
	}
	job := like
	job.Data = bytes.Clone(text)
	return job, CheckJSON(job.Data)
}

// ParsePut reads a job as `oarlock put --jobs` has them on a line, an object; what it does not say is as in like. Its data is kept byte
// for byte. The error is *Wrong of a field that there is not, or says where the text stops being JSON; CheckPut has the rest.
func ParsePut(like queue.Put, text []byte) (queue.Put, error) {
	p, err := putline.Read(like, text)
	if unknown := (*putline.UnknownField)(nil); errors.As(err, &unknown) {
		err = &Wrong{unknown.Name, "is a field that no job has" + unknown.Near}
	}
	return p, err
}
