package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"oarlock/internal/cmdline"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "SHELL",
		Description: "bash: source <(oarlock completion bash)\nzsh:  oarlock completion zsh > \"${fpath[1]}/_oarlock\"\nfish: oarlock completion fish | source\n" +
			"It completes commands, options, files, and, where they are found within 200 ms, queues, keys, lists, pools, failed jobs and their groups, and what rules name: throttles, windows, classes.\n" +
			"To complete runs nothing: it asks Redis for names, and the running supervisor for its pools.",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "a shell"); err != nil {
				return err
			}
			script := cmdline.Script(c.Args().First())
			if script == "" {
				return misused("no completion for %q; there is bash, zsh and fish", c.Args().First())
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}
