package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// browserTests is the module of the tests in a real browser. It is one of its own, so that what drives the browser is no
// dependency of the program.
const browserTests = "integration/browser"

// browse runs the tests in a real browser. What they are missing they say by being skipped.
func browse(timeout, only string, install bool) (summary, error) {
	if _, err := os.Stat(filepath.Join(browserTests, "node_modules/axe-core/axe.min.js")); err != nil && install {
		npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
		npm.Dir, npm.Stdout, npm.Stderr = browserTests, os.Stdout, os.Stderr
		if err := npm.Run(); err != nil {
			fmt.Println("npm:", err)
		}
	}
	step("go vet "+browserTests, func() error {
		vet := exec.Command("go", "vet", "./...")
		vet.Dir, vet.Stdout, vet.Stderr = browserTests, os.Stdout, os.Stderr
		return vet.Run()
	})
	return test(browserTests, []string{"-timeout", timeout, "-run", only, "./..."})
}
