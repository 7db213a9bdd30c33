package ops

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Feed puts a job for each line of a text, in batches.
type Feed struct {
	Client  *queue.Client
	Like    queue.Put                // what the lines do not say
	Whole   bool                     // the lines are whole jobs, not only their data
	Force   bool                     // do not stop at a job that depends on one that is not there
	Read    func(bytes int)          // hears how much more was read
	Refused func(job int, why error) // hears of a job that Redis refused, counted from 1

	fed    Fed
	number int         // of jobs read
	batch  []queue.Put // those of them that were not put yet
	held   int         // bytes of data in batch
}

// Fed is what became of the jobs of a text.
type Fed struct {
	Existed int    `json:"existed"` // left alone
	Put     int    `json:"put"`
	Queue   string `json:"queue"` // of the lines that name none
	Refused int    `json:"refused"`

	Elsewhere bool                `json:"-"` // a line named another queue
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
		if errors.Is(err, errLong) {
			return f.fed, f.stop(ctx, f.number+1, err)
		}
		if err != nil && err != io.EOF {
			return f.fed, err
		}
		last = err == io.EOF
		f.Read(len(line))
		if text := bytes.TrimSpace(line); len(text) > 0 {
			f.number++
			job, err := putOf(f.Like, text, f.Whole)
			if err != nil {
				return f.fed, f.stop(ctx, f.number, err)
			}
			f.batch, f.held = append(f.batch, job), f.held+len(job.Data)
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

// stop puts what is before a line that is wrong.
func (f *Feed) stop(ctx context.Context, line int, why error) error {
	err := f.send(ctx)
	return errors.Join(err, fmt.Errorf("line %d: %w; %s jobs before it were put", line, why, screen.Count(f.fed.Put)))
}

// send puts the batch, up to the first job that depends on nothing.
func (f *Feed) send(ctx context.Context) error {
	first := f.number - len(f.batch) + 1
	sound, missing, err := f.dependsOnNothing(ctx)
	if err != nil {
		return err
	}
	results, err := f.Client.PutAll(ctx, f.batch[:sound])
	for i, result := range results {
		switch {
		case result.Err != nil:
			f.fed.Refused++
			f.Refused(first+i, result.Err)
		case result.Existed:
			f.fed.Existed++
		case result.JID != "":
			f.fed.Put++
		}
	}
	f.batch, f.held = f.batch[:0], 0
	if errors.As(err, &f.fed.Few) {
		err = nil // they were put
	}
	if err == nil && missing != "" {
		err = &Doubt{fmt.Sprintf("line %d: "+noSuchJob, first+sound, missing)}
	}
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

// putLine is a line that is a whole job.
type putLine struct {
	Queue    string          `json:"queue"`
	JID      string          `json:"jid"`
	Klass    string          `json:"klass"`
	Data     json.RawMessage `json:"data"`
	Priority *float64        `json:"priority"`
	Retries  *int            `json:"retries"`
	Delay    float64         `json:"delay"`   // seconds
	Timeout  float64         `json:"timeout"` // seconds
	Tags     []string        `json:"tags"`
	Depends  []string        `json:"depends"`
	IfExists queue.IfExists  `json:"if_exists"` // replace, final, never

	Throttles    []string `json:"throttles"`
	Correlation  string   `json:"correlation"`
	WaitReplicas int      `json:"wait_replicas"`
}

// putOf makes the job that a line describes, like another.
func putOf(like queue.Put, text []byte, whole bool) (queue.Put, error) {
	job := like
	if !whole {
		job.Data = bytes.Clone(text)
		return job, CheckJSON(job.Data)
	}
	var line putLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return job, putLineError(err)
	}
	if err := line.check(); err != nil {
		return job, err
	}
	job.JID, job.Data = line.JID, line.Data
	if job.Data == nil {
		job.Data = []byte("{}")
	}
	say(&job.Queue, line.Queue, line.Queue != "")
	say(&job.Klass, line.Klass, line.Klass != "")
	say(&job.Priority, line.Priority, line.Priority != nil)
	say(&job.Retries, line.Retries, line.Retries != nil)
	say(&job.Delay, time.Duration(line.Delay*float64(time.Second)), line.Delay > 0)
	say(&job.Timeout, time.Duration(line.Timeout*float64(time.Second)), line.Timeout > 0)
	say(&job.Tags, line.Tags, line.Tags != nil)
	say(&job.Depends, line.Depends, line.Depends != nil)
	say(&job.IfExists, line.IfExists, line.IfExists != "")
	say(&job.Correlation, line.Correlation, line.Correlation != "")
	say(&job.Throttles, line.Throttles, line.Throttles != nil)
	job.WaitReplicas = max(job.WaitReplicas, line.WaitReplicas)
	return job, nil
}

// ParsePut reads a job as `oarlock put --jobs` has them on a line, an object; what it does not say is as in like. Its data is kept byte
// for byte. The error is *Wrong of a field that there is not, or says where the text stops being JSON; CheckPut has the rest.
func ParsePut(like queue.Put, text []byte) (queue.Put, error) {
	p, err := putOf(like, text, true)
	var unknown *unknownField
	if errors.As(err, &unknown) {
		err = &Wrong{unknown.name, "is a field that no job has" + unknown.near}
	}
	return p, err
}

// unknownField is the error of a line with a field that no job has.
type unknownField struct{ name, near string }

func (u *unknownField) Error() string { return fmt.Sprintf("unknown field %q%s", u.name, u.near) }

// putLineError says what is wrong with a line.
func putLineError(err error) error {
	text := strings.TrimPrefix(err.Error(), "json: ")
	name, unknown := strings.CutPrefix(text, "unknown field ")
	if !unknown {
		return errors.New(text)
	}
	name = strings.Trim(name, `"`)
	var known []string
	for field := range reflect.TypeFor[putLine]().Fields() {
		known = append(known, field.Tag.Get("json"))
	}
	return &unknownField{name, Nearest(name, known)}
}

// say sets a field to what a line says, if it does.
func say[T any](field *T, value T, does bool) {
	if does {
		*field = value
	}
}

func (l *putLine) check() error {
	switch {
	case l.Delay < 0:
		return errors.New("delay is negative")
	case l.Timeout < 0:
		return errors.New("timeout is negative")
	case l.WaitReplicas < 0:
		return errors.New("wait_replicas is negative")
	case l.Retries != nil && *l.Retries < 0:
		return errors.New("retries is negative")
	}
	return nil
}
