package cli

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/service"
	"oarlock/internal/show"
)

func reloadCommand() *cli.Command {
	return &cli.Command{
		Name:     "reload",
		Usage:    "read the configuration again; a bad one changes nothing",
		Category: "a running supervisor",
		Description: "It says what it did. What leaves finishes its jobs first, however long they take.\n" +
			"Exits 1 if something in the file waits for a restart, 78 if the file is wrong.",
		Flags: []cli.Flag{pidFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			return reloadBy(c.Context, c, s.Reload)
		},
	}
}

// reloadBy asks for a reload and shows what it did.
func reloadBy(ctx context.Context, c *cli.Context, ask func(context.Context, any) error) error {
	var r service.Reloaded
	if err := ask(ctx, &r); err != nil {
		return err
	}
	if r.Refused != "" && !c.Bool("json") {
		return refusedReload{r}
	}
	if err := answer(c, r, func(w io.Writer) { show.Reloaded(w, r) }); err != nil || r.Code == exitOK {
		return err
	}
	return silent{r.Code}
}

// refusedReload is a reload that changed nothing, with the reason and its exit code.
type refusedReload struct{ service.Reloaded }

func (r refusedReload) Error() string { return r.Refused + "\nNothing was changed." }
