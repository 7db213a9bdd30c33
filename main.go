// Oarlock pops jobs from Redis, runs each in a child process of any language,
// and tells Redis what became of it.
package main

import (
	"context"
	_ "embed"
	"os"

	"oarlock/internal/cli"
	"oarlock/runner"
)

//go:embed config.example.toml
var example string

//go:embed examples/python/oarlock.py
var helper string

// version is set by the linker.
var version string

func main() {
	runner.Hidden(os.Args)
	_ = runner.Conceal() // the kernel always does
	program := cli.Program{Version: version, Example: example, Helper: helper, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(program.Main(context.Background(), os.Args))
}
