package cli

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

func respondCommand() *cli.Command {
	command := verb{
		name: "respond", usage: "answer a job that waits for it without a process (see park), or will", words: "KLASS CORRELATION [DATA]", least: 2, most: 3,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "jid", Usage: "only if the job is still that of this `ID`"},
			&cli.StringFlag{Name: "error", Usage: "there will be no answer, and this `TEXT` says why"},
			&cli.StringFlag{Name: "end", Usage: "`ENDING` complete or fail: the answer ends the job, and no child sees it"},
			jsonFlag(),
		},
		do: respond,
	}.command()
	command.Category = "jobs in Redis"
	command.Description = "DATA is JSON, null if there is none; - takes it from stdin. Says resumed where the job waited for it,\n" +
		"kept where the job has it later, again where there was an answer already, and late where the job has\n" +
		"ended. The first answer counts, so an answer may be repeated."
	return command
}

func respond(c *cli.Context, q *queue.Client) error {
	data, err := answerData(c)
	if err != nil {
		return err
	}
	end := queue.AnswerEnd(c.String("end"))
	a, err := ops.Respond(c.Context, q, queue.Response{Klass: c.Args().Get(0), Correlation: c.Args().Get(1), JID: c.String("jid"),
		Data: data, Error: c.String("error"), End: end})
	if err != nil {
		return err
	}
	return answer(c, a, func(w io.Writer) { show.Responded(w, a, end) })
}

// answerData is the JSON that is answered; nil if none was given.
func answerData(c *cli.Context) ([]byte, error) {
	if c.NArg() < 3 {
		return nil, nil
	}
	text := c.Args().Get(2)
	if text != "-" {
		return []byte(text), nil
	}
	data, err := io.ReadAll(io.LimitReader(os.Stdin, queue.MaxResponse+1)) // one more is too large
	if len(data) == 0 && err == nil {
		return nil, misused("stdin is empty; the answer is JSON")
	}
	return data, err
}

func parkCommand() *cli.Command {
	const named = "JID | KLASS CORRELATION"
	return group("park", "jobs that wait for an answer without a process",
		verb{name: "ls", usage: "list them, those whose time is over first", words: "[QUEUE…]", most: -1,
			flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most `N` of each queue"}, jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				jobs, more, err := ops.Parked(c.Context, q, c.Args().Slice(), c.Int("limit"))
				if err != nil {
					return err
				}
				return answer(c, jobs, func(w io.Writer) { show.Parked(w, jobs, more, q.Now()) })
			}},
		verb{name: "show", usage: "show what a job waits for, and until when", words: named, least: 1, most: 2, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				job, err := ops.ShowParked(c.Context, q, c.Args().Slice())
				if err != nil {
					return err
				}
				return answer(c, job, func(w io.Writer) { show.ParkedJob(w, job, q.Now()) })
			}},
		verb{name: "extend", usage: "let a job wait longer, or less long, for its answer", words: named, least: 1, most: 2,
			flags: []cli.Flag{&cli.DurationFlag{Name: "timeout", Usage: "for how long `FROM-NOW`, such as 2h"}, jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				if !c.IsSet("timeout") {
					return misused("say for how long it is to wait from now: --timeout 2h")
				}
				extended, err := ops.ExtendParked(c.Context, q, c.Args().Slice(), c.Duration("timeout"))
				if err != nil {
					return err
				}
				return answer(c, extended, func(w io.Writer) { show.Extended(w, extended, q.Now()) })
			}},
		verb{name: "fail", usage: "fail a job, as an answer that there will be none", words: named, least: 1, most: 2,
			flags: []cli.Flag{&cli.StringFlag{Name: "error", Usage: "`TEXT` that says why"}, jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				a, err := ops.FailParked(c.Context, q, c.Args().Slice(), c.String("error"))
				if err != nil {
					return err
				}
				return answer(c, a, func(w io.Writer) { show.FailedParked(w, a) })
			}},
	)
}
