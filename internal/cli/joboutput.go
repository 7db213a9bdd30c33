package cli

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/control"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/queue"
)

func jobOutputCommand() *cli.Command {
	return &cli.Command{
		Name:      "output",
		Usage:     "show what a job printed, on the host that ran it",
		ArgsUsage: "JID",
		Description: "Its pool must say keep_output. Lines of stdout are marked with |, those of stderr with !, records\n" +
			"of its log with @. Secrets are blanked as [log] redact and redact_text say.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "attempt", Usage: "the last attempt of that `NUMBER`, not the last of all"},
			&cli.StringFlag{Name: "run", Usage: "the attempt of that `RUN`, where several have the same number, as those before and after the job waited for an answer"},
			pidFlag(), jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "JID"); err != nil {
				return err
			}
			if c.IsSet("attempt") && c.Int("attempt") < 1 {
				return misused("attempts are counted from 1")
			}
			s, err := reach(c)
			if errors.Is(err, control.ErrNone) && unheardOf(c, c.Args().First()) {
				return notThere("there is no job %s", c.Args().First())
			}
			if errors.Is(err, control.ErrNone) {
				return notThere("what a job printed is told by the supervisor on the host that ran it (`oarlock job show %s` names it); %v", screen.InShell(c.Args().First()), err)
			}
			if err != nil {
				return err
			}
			var view service.JobOutput
			err = s.Output(c.Context, c.Args().First(), c.Int("attempt"), c.String("run"), &view)
			if err != nil && unheardOf(c, c.Args().First()) {
				return notThere("there is no job %s, and nothing of one is kept here", c.Args().First())
			}
			if nothing := (*control.Nothing)(nil); errors.As(err, &nothing) {
				return notThere("%s", nothing.Text)
			}
			if err != nil {
				return err
			}
			return answer(c, view, func(w io.Writer) { show.Output(w, view) })
		},
	}
}

// unheardOf reports whether Redis answers, and knows no such job.
func unheardOf(c *cli.Context, jid string) bool {
	client, err := open(c)
	if err != nil {
		return false
	}
	defer client.Close()
	_, err = client.Get(c.Context, jid)
	return errors.Is(err, queue.ErrNoJob)
}
