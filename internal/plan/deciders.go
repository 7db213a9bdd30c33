package plan

import (
	"context"
	"path/filepath"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/decider"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Deciders are the commands that decide about throttles, by their names.
func Deciders(cfg config.Config) map[string]decider.Command {
	commands := make(map[string]decider.Command)
	for name, t := range cfg.Throttles {
		if len(t.Command) > 0 {
			commands[name] = decider.Command{Argv: t.Command, Dir: filepath.Dir(cfg.Path), Timeout: time.Duration(t.Timeout), Every: time.Duration(t.Every)}
		}
	}
	return commands
}

// AskedEnv is the environment of a command that decides: what children have of ours, and the name of what it decides about, which is of
// such a kind: THROTTLE or POOL.
func AskedEnv(kind, name string) []string {
	return childEnv(config.Environ(), nil, map[string]string{"OARLOCK_" + kind: name, "PYTHONUNBUFFERED": "1"})
}

// MostAnswer is how much a command that decides may print: an answer about a hundred jobs has less, and so has the new data of one.
const MostAnswer = 1 << 20

// RetryDecider runs on host a retry_command of a file in dir, for one of its pools: what supervisor.Config.Ask is told.
func RetryDecider(host *runner.Host, dir string) func(ctx context.Context, pool string, command []string, input []byte) ([]byte, error) {
	return func(ctx context.Context, pool string, command []string, input []byte) ([]byte, error) {
		return host.Ask(ctx, runner.Question{
			Command: command, Dir: dir, Env: AskedEnv("POOL", pool), Input: input, Timeout: supervisor.AskTime, Most: MostAnswer,
		})
	}
}
