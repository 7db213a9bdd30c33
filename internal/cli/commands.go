package cli

import "github.com/urfave/cli/v2"

// commands is the table of contents; the help shows it in this order.
func (p Program) commands() []*cli.Command {
	return []*cli.Command{
		tryCommand(),
		checkCommand(),
		p.initCommand(),
		putCommand(),
		p.versionCommand(),
		completionCommand(),
	}
}
