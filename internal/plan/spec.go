package plan

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/config"
	"oarlock/protocol"
	"oarlock/runner"
)

// Spec turns the table of a pool into how its children are started and treated. p was validated; the error is about
// files that have changed since.
func Spec(name string, p config.Pool) (runner.Spec, error) {
	added, err := p.Sandbox.Environ()
	if err != nil {
		return runner.Spec{}, err
	}
	env := config.Environ()
	if p.Sandbox.User != "" {
		env = asUser(env, p.Sandbox.User)
	}
	spec := runner.Spec{
		Pool:         name,
		Command:      p.Command,
		Args:         p.Args,
		Vars:         p.Env,
		Dir:          p.Sandbox.Dir,
		Env:          childEnv(env, p.Sandbox.EnvOnly, added),
		PTY:          p.PTY,
		Strict:       p.Strict,
		Hello:        helloOf(p.Hello),
		MaxLine:      int(p.MaxLine),
		LogRate:      p.LogRate,
		KeepOutput:   int(p.KeepOutput),
		KillGrace:    time.Duration(p.KillGrace),
		DrainSignal:  drainSignal(p.DrainSignal),
		StartTimeout: time.Duration(p.StartTimeout),
		StallTimeout: time.Duration(p.StallTimeout),
		ExitCodes:    exitTable(p.ExitCodes),
		Sandbox:      sandboxOf(p.Sandbox),
	}
	var wrong [4]error
	spec.Mode, wrong[0] = runner.ParseMode(p.Mode)
	spec.Input, wrong[1] = runner.ParseInput(p.Input)
	spec.Status, wrong[2] = runner.ParseStatusFrom(p.Status)
	spec.Kill, wrong[3] = runner.ParseKillStrength(p.Sandbox.Kill)
	return spec, errors.Join(wrong[:]...)
}

// helloOf is what a pool may expect of its children: what they did before, or nothing.
func helloOf(expected bool) runner.HelloPolicy {
	if expected {
		return runner.HelloAuto
	}
	return runner.HelloNone
}

// drainSignal is the signal of that name, one of config.Signals; 0 for none.
func drainSignal(name string) syscall.Signal {
	if name == "" {
		return 0
	}
	return unix.SignalNum("SIG" + name)
}

func sandboxOf(s config.Sandbox) runner.Sandbox {
	out := runner.Sandbox{
		PrivateDir:  s.PrivateDir,
		KeepFailed:  s.KeepFailed,
		User:        s.User,
		Group:       s.Group,
		Nice:        s.Nice,
		OOMScoreAdj: s.OOMScoreAdj,
		NoNewPrivs:  s.NoNewPrivs,
		Limits: runner.Limits{
			NoFile: limit(s.Limits.NoFile),
			Memory: limit(s.Limits.Memory),
			FSize:  limit(s.Limits.FSize),
		},
	}
	core := uint64(s.Limits.Core) // zero is a limit here
	out.Limits.Core = &core
	if cpu := time.Duration(s.Limits.CPU); cpu > 0 {
		out.Limits.CPU = &cpu
	}
	if s.Umask != "" {
		mask, _ := strconv.ParseUint(s.Umask, 8, 9) // validated
		umask := int(mask)
		out.Umask = &umask
	}
	return out
}

// limit is nil for zero, which means: none.
func limit[T ~int | ~int64](n T) *uint64 {
	if n == 0 {
		return nil
	}
	most := uint64(n)
	return &most
}

func exitTable(codes map[string]string) protocol.ExitTable {
	if len(codes) == 0 {
		return nil
	}
	table := protocol.ExitTable{}
	for text, meaning := range codes {
		code, _ := strconv.Atoi(text) // both validated
		table[code], _ = protocol.ParseExitAction(meaning)
	}
	return table
}

// Not for children: what opens Redis, what configures us, and what lets a process speak
// to the service manager in our name.
var (
	secretPrefixes = []string{"REDIS_", "REDISCLI_", "OARLOCK_REDIS_", "OARLOCK_SUPERVISOR_", "OARLOCK_LOG_", "WATCHDOG_", "LISTEN_", "MEMORY_PRESSURE_"}
	secretNames    = []string{"OARLOCK_CONFIG", "NOTIFY_SOCKET", "MAINPID", "MANAGERPID", "INVOCATION_ID", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "SYSTEMD_EXEC_PID",
		"TRACEPARENT", "TRACESTATE"} // what started us is no part of a job
)

// childEnv is the whole environment of a child: of ours what it may have, or only what
// is named if anything is; then what is added.
func childEnv(ours, only []string, added map[string]string) []string {
	all := map[string]string{}
	for _, pair := range ours {
		name, value, _ := strings.Cut(pair, "=")
		if len(only) > 0 {
			if slices.Contains(only, name) {
				all[name] = value
			}
		} else if !isSecret(name) {
			all[name] = value
		}
	}
	maps.Copy(all, added)
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

func isSecret(name string) bool {
	return slices.Contains(secretNames, name) || config.IsSecret(name) ||
		slices.ContainsFunc(secretPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
