package plan

import (
	"bufio"
	"os"
	"os/user"
	"strings"
)

// asUser is the environment env for somebody who runs as the user of that name or number: with
// the home and shell of that user, and not with ours, which that user cannot enter.
func asUser(env []string, name string) []string {
	theirs := map[string]string{"HOME": "/", "SHELL": "/bin/sh", "USER": "", "LOGNAME": ""} // of a number without an entry
	entry, err := user.Lookup(name)
	if err != nil {
		entry, err = user.LookupId(name)
	}
	if err == nil {
		theirs["HOME"], theirs["USER"], theirs["LOGNAME"] = entry.HomeDir, entry.Username, entry.Username
		if shell := shellOf(entry.Username); shell != "" {
			theirs["SHELL"] = shell
		}
	}
	var out []string
	for _, pair := range env {
		variable, _, _ := strings.Cut(pair, "=")
		if _, is := theirs[variable]; !is {
			out = append(out, pair)
		}
	}
	for variable, value := range theirs {
		if value != "" {
			out = append(out, variable+"="+value)
		}
	}
	return out
}

// shellOf is the shell of a user in /etc/passwd; "" if there is none.
func shellOf(name string) string {
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) == 7 && fields[0] == name {
			return fields[6]
		}
	}
	return ""
}
