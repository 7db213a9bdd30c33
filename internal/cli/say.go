package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/say"
	"oarlock/internal/screen"
	"oarlock/protocol"
)

func sayCommand() *cli.Command {
	return &cli.Command{
		Name:  "say",
		Usage: "within a job: say one thing about it, from a shell script",
		Description: "Writes one status line to the supervisor that started this program: on the descriptor\n" +
			"OARLOCK_STATUS_FD where that is open, else on stdout with the run of OARLOCK_RUN, so do not\n" +
			"catch its output. The first of ack, retry, fail, release, unknown, park, cancel and requeue is the verdict; it does\n" +
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
			sayVerb(protocol.VerbPark, "[CORRELATION]", "it waits for an answer to this, without a process", 0, 1, []string{"correlation"},
				&cli.DurationFlag{Name: "timeout", DefaultText: "24h", Usage: "how long it waits at most"}, dataOption(),
				&cli.StringFlag{Name: "checkpoint", Usage: "what the next attempt is told, as `JSON`"},
				&cli.StringFlag{Name: "then", Usage: "`NEXT` resume (the default), or complete: the answer completes the job"}),
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
			way, err := say.WayOut(c.App.Writer, c.String("run"))
			if err != nil {
				return err
			}
			fields, err := fieldsOf(c, names)
			if err != nil {
				return err
			}
			line, err := say.Line(verb, way.Run, fields)
			if _, unsaid := errors.AsType[*say.UnsaidError](err); err != nil && !unsaid {
				return misused("%v", err)
			} else if err != nil {
				return err
			}
			return way.Send(line)
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
	return &cli.StringFlag{Name: "group", Usage: "the `GROUP` of failures under which it is listed"}
}

func putOptions() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "klass", Usage: "what `KIND` of work it is; else that of this job"},
		&cli.StringFlag{Name: "jid", Usage: "`ID` of the job; else a new one"},
		&cli.StringFlag{Name: "if-exists", Usage: "what becomes of a job of that jid: `EXISTING` final (the default), replace or never"},
		delayOption("how long it waits before it may run"),
		&cli.Float64Flag{Name: "priority", Usage: "higher comes first"},
		&cli.IntFlag{Name: "retries", Usage: "how often it may be tried again"},
		&cli.DurationFlag{Name: "timeout", DefaultText: "the pool's", Usage: "longest time of an attempt, where shorter than the pool's"},
		&cli.StringSliceFlag{Name: "tag", Usage: "a `TAG` of the job; may be given again"},
		&cli.StringSliceFlag{Name: "depends", Usage: "`JID` of a job that must complete first; may be given again"},
		&cli.StringSliceFlag{Name: "throttle", Usage: "a `THROTTLE` that it needs; may be given again"},
	}, wantsFlags()...)
}

// fieldsOf are what the words of c, which stand for names in order, and its options say.
func fieldsOf(c *cli.Context, names []string) (fields []say.Field, err error) {
	add := func(name, json string) { fields = append(fields, say.Field{Name: name, JSON: json}) }
	for i, word := range c.Args().Slice() {
		switch name := names[min(i, len(names)-1)]; name {
		case "tags":
			if i == 0 {
				add(name, screen.Compact(c.Args().Slice()))
			}
		case "priority", "pct":
			if _, err := strconv.ParseFloat(word, 64); err != nil {
				return nil, misused("%q is no number%s", word, map[string]string{"pct": " of percent"}[name])
			}
			add(name, word)
		case "data":
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
		case *cli.BoolFlag:
			add(name, fmt.Sprint(c.Bool(name)))
		default:
			if name == "data" || name == "checkpoint" {
				add(name, c.String(name))
			} else {
				add(strings.ReplaceAll(name, "-", "_"), screen.Compact(c.String(name)))
			}
		}
	}
	return fields, nil
}
