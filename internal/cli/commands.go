package cli

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// commands is the table of contents; the help shows it in this order.
func (p Program) commands() []*cli.Command {
	return slices.Concat(
		[]*cli.Command{
			demoCommand(),
			runCommand(),
			devCommand(),
			tryCommand(),
			checkCommand(),
			p.initCommand(),
			putCommand(),
			p.versionCommand(),
			completionCommand(),
			statusCommand(),
		},
		controlCommands(),
	)
}
