package cli

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// commands is the table of contents; the help shows it in this order.
func (p Program) commands() []*cli.Command {
	return slices.Concat(
		[]*cli.Command{
			p.demoCommand(),
			p.runCommand(),
			p.devCommand(),
			tryCommand(),
			tortureCommand(),
			replayCommand(),
			sayCommand(),
			checkCommand(),
			retryCommand(),
			p.initCommand(),
			unitCommand(),
			p.versionCommand(),
			completionCommand(),
			statusCommand(),
			topCommand(),
			metricsCommand(),
			p.webCommand(),
		},
		controlCommands(),
		[]*cli.Command{
			putCommand(),
			queueCommand(),
			jobCommand(),
			respondCommand(),
			parkCommand(),
			failedCommand(),
			keyCommand(),
			listCommand(),
			recurCommand(),
			workerCommand(),
			throttleCommand(),
			rulesCommand(),
			windowCommand(),
			klassCommand(),
			tagCommand(),
			searchCommand(),
			statsCommand(),
			settingsCommand(),
			eventsCommand(),
			luaCommand(),
			doctorCommand(),
			downgradeCommand(),
		},
		p.benchCommands(),
	)
}
