// Oarlock pops jobs from Redis, runs each in a child process of any language,
// and tells Redis what became of it.
package main

import (
	"context"
	_ "embed"
	"os"
	"runtime/debug"

	"oarlock/internal/cli"
	"oarlock/runner"
)

//go:embed config.example.toml
var example string

//go:embed examples/python/oarlock.py
var helper string

// version is set by the linker.
var version string

// garbage is how much memory may lie idle before it is collected, as a percentage of what is in use, unless GOGC says another. It is less than Go
// would let lie: a supervisor of many pools is 3 MiB smaller for that, and takes a fiftieth more of the processor where it is busiest.
const garbage = 70

func main() {
	runner.Hidden(os.Args)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	_ = runner.Conceal() // the kernel always does
	program := cli.Program{Version: version, Example: example, Helper: helper, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(program.Main(context.Background(), os.Args))
}
