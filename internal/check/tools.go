package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool is a program that some tests start.
type tool struct {
	command string // looked up in PATH
	apt     string // Debian packages that bring it
	brew    string // Homebrew formulas that bring it
	use     string // what goes untested without it
	only    bool   // of the package nothing is wanted but the command: it is unpacked, and what it would start is not installed
}

var tools = []tool{
	{command: "gcc", apt: "gcc libc6-dev", brew: "gcc", use: "the race detector needs a C compiler"},
	{command: "redis-server", apt: "redis-server", brew: "redis", use: "queue and integration tests need a real Redis"},
	{command: "python3", apt: "python3", brew: "python", use: "the Python helper and most fixtures"},
	{command: "ruby", apt: "ruby", brew: "ruby", use: "the Ruby helper"},
	{command: "php", apt: "php-cli", brew: "php", use: "the PHP helper"},
	{command: "node", apt: "nodejs", brew: "node", use: "the Node helper"},
	{command: "npm", apt: "npm", brew: "node", use: "axe-core, which looks for what keeps people out of the pages"},
	{command: "chromium", apt: "chromium", use: "the pages in a real browser"},
	{command: "curl", apt: "curl", brew: "curl", use: "the examples that are answered or put by HTTP"},
	{command: "jq", apt: "jq", brew: "jq", use: "the commands of the pages in docs, as they stand there"},
	{command: "flock", apt: "util-linux", brew: "flock", use: "that no two children have one device"},
	{command: "valgrind", apt: "valgrind", use: "what a call costs Redis, in instructions"},
	{command: "zsh", apt: "zsh", brew: "zsh", use: "the completion in zsh"},
	{command: "fish", apt: "fish", brew: "fish", use: "the completion in fish"},
	{command: "systemd-analyze", apt: "systemd", use: "the shipped units are verified with it"},
	{command: "promtool", apt: "prometheus", brew: "prometheus", use: "metrics, rules, alerts and the dashboard are checked with it", only: true},
	{command: "nginx", apt: "nginx", brew: "nginx", use: "the example of a proxy before the pages", only: true},
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
	var alone []tool
	for _, t := range missing {
		if t.only {
			alone = append(alone, t)
		} else {
			packages = append(packages, strings.Fields(t.apt)...)
		}
	}
	if err := run("apt-get", "update", "-qq"); err != nil {
		fmt.Println("apt-get:", err)
	}
	if len(packages) > 0 {
		fmt.Println("installing", strings.Join(packages, " "))
		if err := aptInstall(packages); err != nil {
			fmt.Println("apt-get:", err)
		}
	}
	for _, t := range alone {
		fmt.Println("unpacking", t.command, "of", t.apt)
		if err := unpack(t); err != nil {
			fmt.Println("unpacking:", err)
		}
	}
	return lookUp()
}

// unpack takes the command of a tool out of its Debian package, which is not installed.
func unpack(t tool) error {
	dir, err := os.MkdirTemp("", "oarlock-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fetch := exec.Command("apt-get", "download", "-qq", t.apt)
	fetch.Dir, fetch.Stderr = dir, os.Stderr
	if err := fetch.Run(); err != nil {
		return err
	}
	packed, err := filepath.Glob(filepath.Join(dir, t.apt+"_*.deb"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("apt-get download %s left %v (%v)", t.apt, packed, err)
	}
	if err := run("dpkg", "-x", packed[0], dir); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(dir, "usr/*bin", t.command)) // bin, or sbin
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s has %s at %v (%v)", t.apt, t.command, found, err)
	}
	return run("install", "-m", "755", found[0], filepath.Join("/usr/local/bin", t.command))
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
	return run("apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)...)
}
