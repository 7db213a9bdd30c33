package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"oarlock/internal/config"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// The crew is a supervisor in a process of its own, so that what it costs can be told
// from what the putting of jobs costs. It reads one order from its stdin, says words on
// its stdout, and leaves at the end of its stdin.

// order is what a crew is told.
type order struct {
	Redis   config.Redis
	Shape   Shape
	Queue   string
	Jobs    int    // after how many settlements to say worked; 0: never
	Tell    int    // say done after each so many settlements; 0: never
	Starts  bool   // say started for each attempt, and which children come and go
	State   string // the supervisor's state directory; "": none
	Profile string // file for a profile of the processor's time; "": none
}

// word is what a crew says: one of its fields.
type word struct {
	Started *started `json:",omitempty"`
	Child   int      `json:",omitempty"` // the pid of a child that was started
	Gone    int      `json:",omitempty"` // of one that has ended
	Done    int      `json:",omitempty"` // so many were settled by then
	Worked  *worked  `json:",omitempty"`
	Left    *left    `json:",omitempty"` // the last word
}

// started: a child was handed a job.
type started struct {
	JID string
	At  time.Time
}

// worked: the last of the jobs was settled.
type worked struct {
	First, Last time.Time     // the first job's start, the last one's settlement
	CPU         time.Duration // that the supervisor used since it began
	Memory      int64         // the most it had resident, in bytes
}

// left: everything has gone.
type left struct {
	Children time.Duration // processor time of all children, their start included
}

// Parts is how a crew gets what only the command line can make.
type Parts struct {
	Open func(context.Context, config.Redis) (*queue.Client, error)
	Pool func(Shape) (supervisor.Pool, error)
}

// Crew is the process that Measure starts: it obeys the order that it reads from in.
func Crew(ctx context.Context, in io.Reader, out io.Writer, parts Parts) error {
	decoder := json.NewDecoder(in)
	var o order
	if err := decoder.Decode(&o); err != nil {
		return err
	}
	client, err := parts.Open(ctx, o.Redis)
	if err != nil {
		return err
	}
	defer client.Close()
	pool, err := parts.Pool(o.Shape)
	if err != nil {
		return err
	}
	if pool.List == nil {
		pool.Queues = []string{o.Queue}
	}
	if o.Profile != "" {
		file, err := os.Create(o.Profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ear := &ear{order: o, say: json.NewEncoder(out)}
	sup := supervisor.New(supervisor.Config{
		Name: "bench", StateDir: o.State, Pools: []supervisor.Pool{pool}, DrainTimeout: 5 * time.Second,
		OnEvent: ear.hear, ChildLog: func(supervisor.Line) {},
	}, client, host)
	go func() { // until the parent lets go of our stdin, at the latest when it dies
		_, _ = io.Copy(io.Discard, in)
		sup.Stop()
	}()
	err = sup.Run(ctx)
	if err := errors.Join(err, host.Close()); err != nil {
		return err
	}
	return ear.say.Encode(word{Left: &left{processorTime(syscall.RUSAGE_CHILDREN)}})
}

// ear hears of what happens in the crew's one pool, from its loop.
type ear struct {
	order   order
	say     *json.Encoder // what cannot be said has nobody to hear it: the parent is gone
	settled int
	first   time.Time
}

func (r *ear) hear(e supervisor.Event) {
	switch e.Kind {
	case supervisor.ChildStarted:
		if r.order.Starts {
			_ = r.say.Encode(word{Child: e.PID})
		}
	case supervisor.ChildExited:
		if r.order.Starts {
			_ = r.say.Encode(word{Gone: e.PID})
		}
	case supervisor.AttemptStarted:
		if r.first.IsZero() {
			r.first = time.Now()
		}
		if r.order.Starts {
			_ = r.say.Encode(word{Started: &started{e.Job.JID, time.Now()}})
		}
	case supervisor.Settled:
		r.settled++
		switch {
		case r.settled == r.order.Jobs:
			_ = r.say.Encode(word{Worked: &worked{r.first, time.Now(), processorTime(syscall.RUSAGE_SELF), peakMemory()}})
		case r.order.Tell > 0 && r.settled%r.order.Tell == 0:
			_ = r.say.Encode(word{Done: r.settled})
		}
	}
}

// peakMemory is the most memory that this process had resident, in bytes; 0 where the
// kernel does not tell. It is not what getrusage says, which counts the parent's, too.
func peakMemory() int64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	status, err := self.NewStatus()
	if err != nil {
		return 0
	}
	return int64(status.VmHWM)
}
