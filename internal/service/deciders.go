package service

import (
	"context"

	"oarlock/internal/decider"
	"oarlock/internal/plan"
	"oarlock/runner"
)

// decide runs the command of a throttle, with what our children have of our environment.
func (s *Service) decide(ctx context.Context, throttle string, c decider.Command, input []byte) ([]byte, error) {
	return s.host.Ask(ctx, runner.Question{
		Command: c.Argv, Dir: c.Dir, Env: plan.AskedEnv("THROTTLE", throttle), Input: input, Timeout: c.Timeout, Most: plan.MostAnswer,
	})
}
