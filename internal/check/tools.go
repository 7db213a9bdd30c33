package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// tool is a program that some tests start.
type tool struct {
	command string // looked up in PATH
	apt     string // Debian packages that bring it
	brew    string // Homebrew formulas that bring it
	use     string // what goes untested without it
}

var tools = []tool{
	{"gcc", "gcc libc6-dev", "gcc", "the race detector needs a C compiler"},
	{"redis-server", "redis-server", "redis", "queue and integration tests need a real Redis"},
	{"python3", "python3", "python", "the Python helper and most fixtures"},
	{"ruby", "ruby", "ruby", "the Ruby helper"},
	{"php", "php-cli", "php", "the PHP helper"},
	{"node", "nodejs", "node", "the Node helper"},
	{"zsh", "zsh", "zsh", "the completion in zsh"},
	{"fish", "fish", "fish", "the completion in fish"},
	{"systemd-analyze", "systemd", "", "the shipped units are verified with it"},
}

func (t tool) hint() string {
	if t.brew == "" {
		return fmt.Sprintf("%q (apt)", t.apt)
	}
	return fmt.Sprintf("%q (apt) or %q (brew)", t.apt, t.brew)
}

// findTools returns the tools that are not there, after trying to install them
// where that needs no questions: with apt, as root.
func findTools(install bool) []tool {
	missing := lookUp()
	if len(missing) == 0 || !install || os.Geteuid() != 0 {
		return missing
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return missing
	}
	var packages []string
	for _, t := range missing {
		packages = append(packages, strings.Fields(t.apt)...)
	}
	fmt.Println("installing", strings.Join(packages, " "))
	if err := aptInstall(packages); err != nil {
		fmt.Println("apt-get:", err)
	}
	return lookUp()
}

func lookUp() (missing []tool) {
	for _, t := range tools {
		if _, err := exec.LookPath(t.command); err != nil {
			missing = append(missing, t)
		}
	}
	return missing
}

// aptInstall installs packages without starting the services they bring: the
// tests start a redis-server of their own, and must not find another one.
func aptInstall(packages []string) error {
	const policy = "/usr/sbin/policy-rc.d" // asked by Debian's maintainer scripts; 101 means "do not start"
	if _, err := os.Stat(policy); os.IsNotExist(err) {
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err == nil {
			defer os.Remove(policy)
		}
	}
	os.Setenv("DEBIAN_FRONTEND", "noninteractive")
	if err := run("apt-get", "update", "-qq"); err != nil {
		return err
	}
	return run("apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)...)
}
