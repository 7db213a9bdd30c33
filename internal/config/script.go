package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"oarlock/internal/shebang"
)

// interpreters are programs whose first word that is no option is a file of the user's, each
// with the letters of the options after which it is not: code, a module, a name in PATH.
var interpreters = map[string]string{
	"python": "cm", "pypy": "cm", "ruby": "eS", "perl": "eE", "php": "rBRES", "lua": "e", "luajit": "e",
	"node": "ep", "nodejs": "ep", "Rscript": "e", "tclsh": "",
	"sh": "cs", "bash": "cs", "dash": "cs", "zsh": "cs", "ksh": "cs", "fish": "c",
}

// shells are those of interpreters to which a line ends with a line feed and nothing before it.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish"}

// wrappers start the program that is named among their words, on this machine and in our
// directory.
var wrappers = []string{"env", "nice", "ionice", "timeout", "time", "nohup", "setsid", "stdbuf", "chrt", "taskset", "dumb-init", "tini"}

// scriptName is what only the file of a script is called.
var scriptName = regexp.MustCompile(`^[^-{$*?][^={}$*?]*\.(py|rb|pl|php|lua|js|mjs|cjs|R|tcl|sh|bash|zsh|fish)$`)

// versioned is what follows the name of an interpreter that has its version in it.
var versioned = regexp.MustCompile(`[-0-9.]+$`)

// ScriptTrouble tells of the script that the pool's command names, if that is not there or no
// shell can read it, and what to do: nothing works without it, but it may be put there later. "" means that
// nothing is known to be wrong; where the words of a command can be read in two ways,
// nothing is.
func (p Pool) ScriptTrouble() string {
	script, by := scriptOf(p.Command)
	if script == "" {
		return ""
	}
	file := script
	if !filepath.IsAbs(file) {
		if p.Sandbox.Dir == PrivateDir {
			return fmt.Sprintf("the command names %s, but starts in the private directory, which is empty: give an absolute path", script)
		}
		file = filepath.Join(p.Sandbox.Dir, file)
	}
	if _, err := exec.LookPath(script); err == nil && filepath.Base(script) == script {
		return "" // shells look there, too
	}
	info, err := os.Stat(file)
	if err == nil && info.Mode().IsRegular() && slices.Contains(shells, by) {
		if why := shebang.ToShells(file); why != "" {
			return fmt.Sprintf("the command names %s: %s", script, why)
		}
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return fmt.Sprintf("the command names %s, and there is no %s: put it there, or correct command, or sandbox.dir, from where a relative path is looked for", script, file)
}

// scriptOf is the file that the interpreter in command, one of interpreters, is to run; "" where there is none or
// it is not clear.
func scriptOf(command []string) (script, by string) {
	if len(command) > 0 && slices.Contains(wrappers, filepath.Base(command[0])) {
		at := slices.IndexFunc(command, func(word string) bool { return interpreter(word) != "" })
		if slices.ContainsFunc(command[:max(at, 0)], func(word string) bool { return strings.HasPrefix(word, "-C") || strings.HasPrefix(word, "--chdir") }) {
			return "", "" // it changes the directory
		}
		command = command[max(at, 0):]
	}
	if len(command) == 0 {
		return "", ""
	}
	name := interpreter(command[0])
	if name == "" {
		return "", ""
	}
	other := interpreters[name]
	// Without an option before it, of which it could be the value, any word is a file; but to
	// node one is a module, which may be spelled otherwise.
	plain := !strings.HasPrefix(name, "node")
	for i, word := range command[1:] {
		switch {
		case word == "--" && i+2 < len(command):
			return known(command[i+2], plain), name
		case word == "-":
			return "", ""
		case strings.HasPrefix(word, "--"):
			if slices.Contains([]string{"--eval", "--print", "--command"}, word) || strings.HasPrefix(word, "--eval=") || strings.HasPrefix(word, "--print=") {
				return "", ""
			}
			plain = false
		case strings.HasPrefix(word, "-"):
			if strings.ContainsAny(word, other) {
				return "", ""
			}
			plain = false
		case plain || scriptName.MatchString(word):
			return known(word, plain), name
		}
	}
	return "", ""
}

// known is word if it can be the name of a file as it stands.
func known(word string, surely bool) string {
	if strings.ContainsAny(word, "{}$*") || !surely && !scriptName.MatchString(word) {
		return ""
	}
	return word
}

// interpreter is the one that word names, without a version; "" if it names none.
func interpreter(word string) string {
	name := filepath.Base(word)
	for _, name := range []string{name, versioned.ReplaceAllString(name, "")} {
		if _, is := interpreters[name]; is {
			return name
		}
	}
	return ""
}
