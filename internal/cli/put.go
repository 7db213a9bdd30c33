package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/queue"
)

func putCommand() *cli.Command {
	return &cli.Command{
		Name:      "put",
		Category:  "jobs in Redis",
		Usage:     "put a job into a queue, or one for each line of JSON",
		ArgsUsage: "QUEUE [DATA]",
		Description: "DATA is JSON; without it the job has the data {}. With - as DATA, or --file, each line\n" +
			"of stdin or of the file is a job's data, or, with --jobs, an object with the keys\n" +
			"data, klass, jid, queue, priority, retries, delay, tags, depends, timeout, throttles,\n" +
			"if_exists, wait_replicas.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "klass", Aliases: []string{"k"}, Value: "job", Usage: "what `KIND` of work it is"},
			&cli.StringFlag{Name: "jid", Usage: "`ID` of the job; else a new one"},
			&cli.Float64Flag{Name: "priority", Aliases: []string{"p"}, Usage: "higher comes first"},
			&cli.IntFlag{Name: "retries", Value: 5, Usage: "how often it may be tried again"},
			&cli.DurationFlag{Name: "delay", Usage: "how long it waits before it may run"},
			&cli.DurationFlag{Name: "timeout", Usage: "longest time of an attempt, where shorter than the pool's"},
			&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "`TAG` of the job; may be given again"},
			&cli.StringSliceFlag{Name: "depends", Usage: "`JID` of a job that must complete first; may be given again"},
			&cli.StringSliceFlag{Name: "throttle", Usage: "`NAME` of a throttle; may be given again"},
			&cli.StringFlag{Name: "if-exists", Usage: "what becomes of a job of that jid: `WORD` replace (the default), final or never"},
			&cli.BoolFlag{Name: "if-absent", Usage: "the same as --if-exists never: leave a job of that jid alone"},
			&cli.IntFlag{Name: "wait-replicas", Usage: "wait until `N` replicas have it, for a second at most (exit code 75: put, but fewer have it)"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "take jobs from the lines of `FILE`; - is stdin"},
			&cli.BoolFlag{Name: "jobs", Usage: "the lines are whole jobs, not only their data"},
			forceFlag(),
			jsonFlag(),
		},
		Action: put,
	}
}

// putLine is one line of a file with --jobs.
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
	WaitReplicas int      `json:"wait_replicas"`
}

func put(c *cli.Context) error {
	if err := wantArgs(c, 1, 2, "a queue"); err != nil {
		return err
	}
	if err := soundPut(c); err != nil {
		return err
	}
	from, many := c.String("file"), c.IsSet("file")
	switch {
	case c.Args().First() == "-" && c.NArg() == 1 && !many && !c.Bool("force"):
		return misused("name a queue, and then - for the lines of stdin: oarlock put QUEUE -\nIf the queue is named -: --force.")
	case many && c.NArg() == 2:
		return misused("give DATA or --file, not both")
	case c.Args().Get(1) == "-":
		from, many = "-", true
	case c.Bool("jobs") && !many:
		return misused("--jobs says what the lines of --file are; name a file")
	}
	like := queue.Put{
		Queue:     c.Args().First(),
		JID:       c.String("jid"),
		Klass:     c.String("klass"),
		Delay:     c.Duration("delay"),
		Timeout:   c.Duration("timeout"),
		Tags:      c.StringSlice("tag"),
		Depends:   c.StringSlice("depends"),
		Throttles: c.StringSlice("throttle"),
		IfExists:  queue.IfExists(c.String("if-exists")),

		WaitReplicas: c.Int("wait-replicas"),
	}
	if err := config.OneOf(c.String("if-exists"), ifExistsWords); err != nil && c.IsSet("if-exists") {
		return misused("--if-exists: %v", err)
	}
	if c.Bool("if-absent") {
		if c.IsSet("if-exists") {
			return misused("give --if-absent or --if-exists, not both")
		}
		like.IfExists = queue.Never
	}
	if c.IsSet("priority") {
		priority := c.Float64("priority")
		like.Priority = &priority
	}
	if c.IsSet("retries") {
		retries := c.Int("retries")
		like.Retries = &retries
	}
	if many {
		if like.JID != "" {
			return misused("--jid names one job; a file has many")
		}
		return putFile(c, from, like)
	}
	like.Data = []byte("{}")
	if c.NArg() == 2 {
		like.Data = []byte(c.Args().Get(1))
	}
	if err := isJSON(like.Data); err != nil {
		return misused("the data is not JSON: %v\nA string needs its quotes: '\"text\"'", err)
	}
	client, err := open(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := somethingToDependOn(c, client, like.Depends); err != nil {
		return err
	}
	results, err := client.PutAll(c.Context, []queue.Put{like})
	var few *queue.ReplicaError
	if err != nil && !errors.As(err, &few) {
		return err
	}
	return errors.Join(putOne(c, like, results[0]), err)
}

// soundPut refuses what nobody can mean by a put, or asks.
func soundPut(c *cli.Context) error {
	switch {
	case c.Int("retries") < 0:
		return misused("--retries is negative; 0 means that it is tried once")
	case c.Duration("delay") < 0:
		return misused("--delay is negative; without it the job may run at once")
	case c.Duration("timeout") < 0 || c.IsSet("timeout") && c.Duration("timeout") == 0:
		return misused("--timeout must be more than 0; without it that of the pool holds")
	case c.Int("wait-replicas") < 0:
		return misused("--wait-replicas is negative")
	case math.IsNaN(c.Float64("priority")) || math.IsInf(c.Float64("priority"), 0):
		return misused("--priority must be a number, higher comes first")
	}
	names := [][2]string{{"queue", c.Args().First()}, {"klass", c.String("klass")}}
	if c.IsSet("jid") {
		names = append(names, [2]string{"jid", c.String("jid")})
	}
	for _, of := range [][2]string{{"tag", "tag"}, {"depends", "jid in --depends"}, {"throttle", "throttle"}} {
		for _, name := range c.StringSlice(of[0]) {
			names = append(names, [2]string{of[1], name})
		}
	}
	for _, name := range names {
		if err := newName(c, name[0], name[1]); err != nil {
			return err
		}
	}
	return nil
}

// somethingToDependOn asks about jobs to depend on that are not there: nothing would be waited for.
func somethingToDependOn(c *cli.Context, q *queue.Client, depends []string) error {
	if len(depends) == 0 || c.Bool("force") {
		return nil
	}
	depends, err := notInRedis(c, q, depends)
	if err != nil || len(depends) == 0 {
		return err
	}
	return doubtful(c, noSuchJob, strings.Join(depends, ", "))
}

const noSuchJob = "There is no job %s, so nothing would be waited for: it may be complete and pruned, or never have been."

// notInRedis are those of jids that no job has.
func notInRedis(c *cli.Context, q *queue.Client, jids []string) ([]string, error) {
	jobs, err := q.GetMany(c.Context, jids...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(jids), func(jid string) bool {
		return slices.ContainsFunc(jobs, func(job queue.Job) bool { return job.JID == jid })
	}), nil
}

// dependsOnNothing finds the first job of a batch that depends on one that is neither in Redis nor before it
// in the batch, and which; it gives the length of the batch if none does. Those of the command line
// have been asked about.
func dependsOnNothing(c *cli.Context, q *queue.Client, batch []queue.Put, asked []string) (int, string, error) {
	ours := map[string]int{} // where each job of the batch is that has a name
	var others []string
	for i, job := range batch {
		for _, jid := range job.Depends {
			if _, is := ours[jid]; !is && !slices.Contains(asked, jid) {
				others = append(others, jid)
			}
		}
		if job.JID != "" {
			ours[job.JID] = i
		}
	}
	if len(others) == 0 || c.Bool("force") {
		return len(batch), "", nil
	}
	slices.Sort(others)
	missing, err := notInRedis(c, q, slices.Compact(others))
	if err != nil {
		return 0, "", err
	}
	for i, job := range batch {
		for _, jid := range job.Depends {
			if at, is := ours[jid]; slices.Contains(missing, jid) && (!is || at >= i) {
				return i, jid, nil
			}
		}
	}
	return len(batch), "", nil
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

// ifExistsWords are what a put may say of a job that has its jid.
var ifExistsWords = []string{string(queue.Replace), string(queue.Final), string(queue.Never)}

// putOne says what became of one job. That one of its jid is there is what --if-absent
// asks for, and an error for who wanted it replaced.
func putOne(c *cli.Context, job queue.Put, r queue.PutResult) error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.Existed && job.IfExists != queue.Never:
		return fmt.Errorf("job %s exists and is %s: it was left alone", r.JID, r.State)
	}
	answer := map[string]any{"jid": r.JID, "queue": job.Queue}
	if r.Existed {
		answer["existed"], answer["state"] = true, r.State
	}
	return show(c, answer, func(w io.Writer) {
		screen.PrintLine(w, r.JID)
		if r.Existed {
			screen.Printf(c.App.ErrWriter, "It exists and is %s: it was left alone.\n", r.State)
		}
	})
}

// putFile puts a job for each line of the file name, - being stdin, in batches. A line
// that is wrong stops it before any later one is put.
func putFile(c *cli.Context, name string, like queue.Put) error {
	in, size := c.App.Reader, int64(-1)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		in = file
	}
	client, err := open(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := somethingToDependOn(c, client, like.Depends); err != nil {
		return err
	}

	bar := putProgress(c.App.ErrWriter, size)
	done, existed, refused, number := 0, 0, 0, 0
	elsewhere := false          // a line named another queue
	var few *queue.ReplicaError // of the last batch that has one
	var batch []queue.Put
	var held int // bytes of data in batch
	send := func() error {
		first := number - len(batch) + 1
		sound, missing, err := dependsOnNothing(c, client, batch, like.Depends)
		if err != nil {
			return err
		}
		results, err := client.PutAll(c.Context, batch[:sound])
		for i, result := range results {
			if result.Err != nil {
				refused++
				screen.Printf(c.App.ErrWriter, "job %d: %v\n", first+i, result.Err)
			} else if result.Existed {
				existed++
			} else if result.JID != "" {
				done++
			}
		}
		batch, held = batch[:0], 0
		if errors.As(err, &few) {
			err = nil // they were put
		}
		if err == nil && missing != "" {
			err = misused("line %d: "+noSuchJob+"\nNothing was done from there on; --force does it all the same.", first+sound, missing)
		}
		return err
	}
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := readLine(lines, queue.MaxData)
		if errors.Is(err, errLong) {
			return errors.Join(send(), fmt.Errorf("line %d: %w; %s jobs before it were put", number+1, err, screen.Count(done+len(batch))))
		}
		if err != nil && err != io.EOF {
			return err
		}
		last := err == io.EOF
		bar.Add(len(line))
		if text := bytes.TrimSpace(line); len(text) > 0 {
			number++
			job, err := putOf(like, text, c.Bool("jobs"))
			if err != nil {
				return errors.Join(send(), fmt.Errorf("line %d: %w; %s jobs before it were put", number, err, screen.Count(done+len(batch))))
			}
			batch, elsewhere = append(batch, job), elsewhere || job.Queue != like.Queue
			held += len(job.Data)
		}
		if len(batch) == queue.PutChunk || held > 1<<20 || last && len(batch) > 0 {
			if err := send(); err != nil {
				return fmt.Errorf("after %s jobs: %w", screen.Count(done), err)
			}
		}
		if last {
			break
		}
	}
	bar.Finish()
	result := map[string]any{"queue": like.Queue, "put": done, "existed": existed, "refused": refused}
	if err := show(c, result, func(w io.Writer) {
		into := like.Queue
		if elsewhere {
			into = "the queues that their lines name"
		}
		screen.Printf(w, "%s put into %s\n", screen.Some(done, "job"), into)
		if existed > 0 {
			screen.Printf(w, "%s left alone, which existed\n", screen.Some(existed, "job"))
		}
	}); err != nil {
		return err
	}
	switch {
	case refused > 0:
		return fmt.Errorf("refused: %s", screen.Some(refused, "job"))
	case few != nil:
		return few
	}
	return nil
}

// putOf makes the job that a line describes, like the one of the command line.
func putOf(like queue.Put, text []byte, whole bool) (queue.Put, error) {
	job := like
	if !whole {
		job.Data = bytes.Clone(text)
		return job, isJSON(job.Data)
	}
	var line putLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return job, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	job.JID, job.Data = line.JID, line.Data
	if job.Data == nil {
		job.Data = []byte("{}")
	}
	if line.Queue != "" {
		job.Queue = line.Queue
	}
	if line.Klass != "" {
		job.Klass = line.Klass
	}
	if line.Priority != nil {
		job.Priority = line.Priority
	}
	if line.Retries != nil {
		job.Retries = line.Retries
	}
	for name, n := range map[string]float64{"delay": line.Delay, "timeout": line.Timeout, "wait_replicas": float64(line.WaitReplicas)} {
		if n < 0 {
			return job, fmt.Errorf("%s is negative", name)
		}
	}
	if line.Retries != nil && *line.Retries < 0 {
		return job, errors.New("retries is negative")
	}
	if line.Delay > 0 {
		job.Delay = time.Duration(line.Delay * float64(time.Second))
	}
	if line.Timeout > 0 {
		job.Timeout = time.Duration(line.Timeout * float64(time.Second))
	}
	if line.Tags != nil {
		job.Tags = line.Tags
	}
	if line.Depends != nil {
		job.Depends = line.Depends
	}
	if line.IfExists != "" {
		job.IfExists = line.IfExists
	}
	if line.Throttles != nil {
		job.Throttles = line.Throttles
	}
	job.WaitReplicas = max(job.WaitReplicas, line.WaitReplicas)
	return job, nil
}

// isJSON says where text stops being JSON.
func isJSON(text []byte) error {
	var any json.RawMessage
	return json.Unmarshal(text, &any)
}

// putProgress shows on a terminal how far a file was read; size below zero is unknown.
func putProgress(w io.Writer, size int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(screen.IsTerminal(w)),
		progressbar.OptionSetDescription("put"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}
