package main

import (
	"fmt"
	"os"
	"os/exec"
)

// tools are the programs that tests start: the command, the Debian packages that bring it, and what goes untested without it.
// Of a service that tests start themselves only the command is taken.
var tools = []struct{ command, apt, use string }{
	{"gcc", "gcc libc6-dev", "the race detector needs a C compiler"},
	{"redis-server", "redis-server", "most tests need a real Redis"},
	{"python3", "python3", "the Python helper and most fixtures"},
	{"ruby", "ruby", "the Ruby helper"},
	{"php", "php-cli", "the PHP helper"},
	{"node", "nodejs", "the Node helper"},
	{"npm", "npm", "axe-core, which checks the accessibility of the pages"},
	{"chromium", "chromium", "the pages in a real browser"},
	{"curl", "curl", "the examples that use the HTTP API"},
	{"jq", "jq", "the commands of the pages in docs"},
	{"flock", "util-linux", "that no two children share a device"},
	{"valgrind", "valgrind", "what a call costs Redis, in instructions"},
	{"zsh", "zsh", "completion in zsh"},
	{"fish", "fish", "completion in fish"},
	{"systemd-analyze", "systemd", "the shipped units"},
	{"promtool", "prometheus", "metrics, rules, alerts and the dashboard"},
	{"nginx", "nginx", "the example of a proxy in front of the pages"},
}

// install installs packages with apt, without starting the services they bring. Of prometheus and nginx it unpacks one command.
const install = `set -e
[ -n "$(find /var/lib/apt/lists -name '*_Packages*' -mmin -60)" ] || apt-get update -qq
policy=/usr/sbin/policy-rc.d # Debian's maintainer scripts ask it; 101 means "do not start"
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy
fi
case "$1" in
promtool | nginx)
	cd "$(mktemp -d)" && apt-get download -qq $2 && dpkg -x $2_*.deb . && install -m 755 usr/*bin/$1 /usr/local/bin/ ;;
*) DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $2 ;;
esac`

// findTools returns how many tools are missing, after trying to install them where that needs no questions: with apt, as root.
func findTools(mayInstall bool) (missing int) {
	_, err := exec.LookPath("apt-get")
	mayInstall = mayInstall && err == nil && os.Geteuid() == 0
	for _, t := range tools {
		_, err := exec.LookPath(t.command)
		if err != nil && mayInstall {
			fmt.Println("installing", t.apt)
			err = run(".", "sh", "-c", install, "sh", t.command, t.apt)
		}
		if err != nil {
			fmt.Printf("MISSING %s: %s; install %q (apt)\n", t.command, t.use, t.apt)
			missing++
		}
	}
	return missing
}
