package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"oarlock/internal/screen"
	"oarlock/protocol"
)

func sayCommand() *cli.Command {
	return &cli.Command{
		Name:  "say",
		Usage: "within a job: say one thing about it, from a shell script",
		Description: "Writes one status line to the supervisor that started this program: on the descriptor\n" +
			"OARLOCK_STATUS_FD where that is open, else on stdout with the run of OARLOCK_RUN, so do not\n" +
			"catch its output. The first of ack, retry, fail, release, unknown, cancel and requeue is the verdict; it does\n" +
			"not end the program. Without one the exit code is. To see what arrives:\n" +
			"oarlock try -- sh -c 'oarlock say progress 40'",
		Subcommands: []*cli.Command{
			sayVerb(protocol.VerbAck, "", "the job is done", 0, 0, nil, dataOption(), delayOption("with --next: how long it waits there"),
				&cli.StringFlag{Name: "next", Usage: "it moves on to `QUEUE`, which next_queues must name"},
				&cli.StringSliceFlag{Name: "depends", Usage: "with --next: `JID` of a job that must complete first; may be given again"}),
			sayVerb(protocol.VerbRetry, "[MESSAGE]", "not done: try it again, at the cost of a retry", 0, 1, []string{"message"},
				delayOption("how long it waits; else the pool's backoff"), groupOption(), dataOption()),
			sayVerb(protocol.VerbFail, "[MESSAGE]", "failed for good", 0, 1, []string{"message"}, groupOption(), dataOption()),
			sayVerb(protocol.VerbRelease, "", "give it back; that costs nothing", 0, 0, nil, delayOption("how long it waits")),
			sayVerb(protocol.VerbUnknown, "[MESSAGE]", "this program has nothing for such a job; another may", 0, 1, []string{"message"},
				&cli.StringFlag{Name: "klass", Usage: "the `KIND` that is not known, if not the job's"}),
			sayVerb(protocol.VerbProgress, "PERCENT [MESSAGE]", "how far it is", 1, 2, []string{"pct", "message"}),
			sayVerb(protocol.VerbHeartbeat, "", "a sign of life, for pools with a stall_timeout", 0, 0, nil),
			sayVerb(protocol.VerbCheckpoint, "JSON", "keep this for the next attempt", 1, 1, []string{"data"}),
			sayVerb(protocol.VerbLog, "MESSAGE", "a line of the log with a level", 1, 1, []string{"message"},
				&cli.StringFlag{Name: "level", Usage: "debug, info, warn or error"}),
			sayVerb(protocol.VerbPut, "QUEUE [JSON]", "a job more, if and when this one is acknowledged", 1, 2, []string{"queue", "data"}, putOptions()...),
			sayVerb(protocol.VerbTag, "TAG…", "give the job tags", 1, -1, []string{"tags"}, aboutOption()),
			sayVerb(protocol.VerbUntag, "TAG…", "take tags from it", 1, -1, []string{"tags"}, aboutOption()),
			sayVerb(protocol.VerbTrack, "", "publish what happens to it", 0, 0, nil, aboutOption()),
			sayVerb(protocol.VerbUntrack, "", "no longer", 0, 0, nil, aboutOption()),
			sayVerb(protocol.VerbPriority, "NUMBER", "its priority from now on; higher comes first", 1, 1, []string{"priority"}, aboutOption()),
			sayVerb(protocol.VerbNote, "MESSAGE", "an entry of its history", 1, 1, []string{"message"}, aboutOption(),
				&cli.StringFlag{Name: "data", Usage: "what belongs to it, as `JSON`: an object or a list"}),
			sayVerb(protocol.VerbCancel, "", "the job is to be no more: a verdict, unless about another", 0, 0, nil, aboutOption()),
			sayVerb(protocol.VerbRequeue, "[QUEUE]", "put it again, with all its retries: a verdict, unless about another", 0, 1, []string{"queue"}, aboutOption(),
				delayOption("how long it waits there")),
			sayVerb(protocol.VerbBye, "[REASON]", "replace me when I have done what I have", 0, 1, []string{"reason"}),
		},
	}
}

// sayVerb is the command that says verb; its words become the fields names, in order.
func sayVerb(verb, args, usage string, least, most int, names []string, options ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name:      verb,
		Usage:     usage,
		ArgsUsage: args,
		Flags: append(options,
			&cli.StringFlag{Name: "run", Usage: "the `ID` of the run, where OARLOCK_RUN does not name it: run of the job line"}),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, least, most, strings.ToLower(args)); err != nil {
				return err
			}
			way, err := wayOut(c)
			if err != nil {
				return err
			}
			line, err := spoken(c, verb, names, way.run)
			if err != nil {
				return err
			}
			return way.send(line)
		},
	}
}

func aboutOption() cli.Flag {
	return &cli.StringFlag{Name: "jid", Usage: "about another job, of that `ID`, where the pool's allow names the verb"}
}

func dataOption() cli.Flag {
	return &cli.StringFlag{Name: "data", Usage: "the job's data from now on, as `JSON`"}
}

func delayOption(usage string) cli.Flag { return &cli.DurationFlag{Name: "delay", Usage: usage} }

func groupOption() cli.Flag {
	return &cli.StringFlag{Name: "group", Usage: "the `KIND` of failure, under which it is listed"}
}

func putOptions() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "klass", Usage: "what `KIND` of work it is; else that of this job"},
		&cli.StringFlag{Name: "jid", Usage: "`ID` of the job; else a new one"},
		&cli.StringFlag{Name: "if-exists", Usage: "what becomes of a job of that jid: `WORD` final (the default), replace or never"},
		delayOption("how long it waits before it may run"),
		&cli.Float64Flag{Name: "priority", Usage: "higher comes first"},
		&cli.IntFlag{Name: "retries", Usage: "how often it may be tried again"},
		&cli.DurationFlag{Name: "timeout", Usage: "longest time of an attempt, where shorter than the pool's"},
		&cli.StringSliceFlag{Name: "tag", Usage: "a `TAG` of the job; may be given again"},
		&cli.StringSliceFlag{Name: "depends", Usage: "`JID` of a job that must complete first; may be given again"},
		&cli.StringSliceFlag{Name: "throttle", Usage: "`NAME` of a throttle; may be given again"},
	}
}

// spoken is the line that says verb with the words and options of c. It is understood by
// those who read it, or there is an error.
func spoken(c *cli.Context, verb string, names []string, run string) ([]byte, error) {
	line := `{"@":` + screen.Compact(verb)
	whole := true
	add := func(name, json string) {
		line += "," + screen.Compact(name) + ":" + json
		whole = whole && protocol.Valid([]byte(json)) // or it could bring fields of its own
	}
	if run != "" {
		add("run", screen.Compact(run))
	}
	for i, word := range c.Args().Slice() {
		switch name := names[min(i, len(names)-1)]; name {
		case "tags":
			if i == 0 {
				add(name, screen.Compact(c.Args().Slice()))
			}
		case "priority":
			if _, err := strconv.ParseFloat(word, 64); err != nil {
				return nil, misused("%q is no number", word)
			}
			add(name, word)
		case "data":
			add(name, word)
		case "pct":
			if _, err := strconv.ParseFloat(word, 64); err != nil {
				return nil, misused("%q is no number of percent", word)
			}
			add(name, word)
		default:
			add(name, screen.Compact(word))
		}
	}
	for _, option := range c.Command.Flags {
		name := option.Names()[0]
		if name == "run" || !c.IsSet(name) {
			continue
		}
		switch option.(type) {
		case *cli.DurationFlag:
			add(name, fmt.Sprint(c.Duration(name).Seconds()))
		case *cli.StringSliceFlag:
			add(strings.TrimSuffix(name, "s")+"s", screen.Compact(c.StringSlice(name))) // tag, given again, makes tags
		case *cli.Float64Flag:
			add(name, fmt.Sprint(c.Float64(name)))
		case *cli.IntFlag:
			add(name, fmt.Sprint(c.Int(name)))
		default:
			if name == "data" {
				add(name, c.String(name))
			} else {
				add(strings.ReplaceAll(name, "-", "_"), screen.Compact(c.String(name)))
			}
		}
	}
	line += "}"
	said, ok := protocol.ParseStatus([]byte(line))
	switch {
	case !ok || !whole || strings.ContainsAny(line, "\r\n"):
		return nil, misused("the data is not JSON on one line\nA string needs its quotes: '\"text\"'")
	case said.Err != nil:
		return nil, misused("%v", said.Err)
	case len(said.Data) > protocol.MaxCheckpoint:
		return nil, toSay{fmt.Sprintf("a checkpoint has at most %d bytes; this one has %d", protocol.MaxCheckpoint, len(said.Data))}
	}
	return []byte(line), nil
}

// way is how a status line reaches the supervisor.
type way struct {
	out   io.Writer
	lead  string // in front of a line; a line feed where others print too, and may not have ended theirs
	run   string // "" where there is none to name
	limit int    // of a line, in bytes
}

// wayOut finds the way that the environment shows.
func wayOut(c *cli.Context) (way, error) {
	w := way{out: c.App.Writer, lead: "\n", run: c.String("run"), limit: protocol.DefaultMaxLine}
	if w.run == "" {
		w.run = os.Getenv("OARLOCK_RUN")
	}
	if n, err := strconv.Atoi(os.Getenv("OARLOCK_MAX_LINE")); err == nil && n > 0 {
		w.limit = n
	}
	number, source := os.Getenv("OARLOCK_STATUS_FD"), os.Getenv("OARLOCK_STATUS")
	if source == "exit" {
		return w, toSay{`this pool looks at nothing but the exit code (status = "exit")`}
	}
	if fd, err := strconv.Atoi(number); err == nil && writable(fd) {
		w.out, w.lead = os.NewFile(uintptr(fd), "OARLOCK_STATUS_FD"), ""
		return w, nil
	}
	closed := fmt.Sprintf("the descriptor %s (OARLOCK_STATUS_FD) is not open here: who started this program must pass it on, as pass_fds=[%s] does in Python", number, number)
	switch {
	case source == "fd":
		return w, toSay{closed}
	case w.run != "" || source == "lines":
		return w, nil
	case number != "":
		return w, toSay{closed + "; or name the run: --run, from the job line"}
	}
	return w, toSay{"this is no job: neither OARLOCK_STATUS_FD nor OARLOCK_RUN is in the environment"}
}

// writable tells whether descriptor fd is a pipe or socket that can be written to, as ours
// is. After it was closed its number may be that of anything.
func writable(fd int) bool {
	var stat unix.Stat_t
	if fd < 3 || unix.Fstat(fd, &stat) != nil || !slices.Contains([]uint32{unix.S_IFIFO, unix.S_IFSOCK}, stat.Mode&unix.S_IFMT) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

// send writes line in one piece.
func (w way) send(line []byte) error {
	if len(line) > w.limit {
		return toSay{fmt.Sprintf("the line has %d bytes, and this pool reads %d (max_line): leave it in a file, and say where", len(line), w.limit)}
	}
	_, err := w.out.Write(slices.Concat([]byte(w.lead), line, []byte("\n")))
	if errors.Is(err, unix.EPIPE) {
		return toSay{"nobody listens any more: the supervisor is gone"}
	}
	return err
}

// toSay is why something cannot be said.
type toSay struct{ why string }

func (e toSay) Error() string { return e.why }
