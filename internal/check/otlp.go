package main

import (
	"os"
	"os/exec"
)

// exporter is the module of the program that tells collectors of traces. It is one of its own, so that nothing that it may
// come to need is a dependency of the program.
const exporter = "contrib/otlp"

// export runs the tests of the exporter.
func export(timeout, only string) (summary, error) {
	step("go vet "+exporter, func() error {
		vet := exec.Command("go", "vet", "./...")
		vet.Dir, vet.Stdout, vet.Stderr = exporter, os.Stdout, os.Stderr
		return vet.Run()
	})
	return test(exporter, []string{"-race", "-timeout", timeout, "-run", only, "./..."})
}
