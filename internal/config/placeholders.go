package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"oarlock/internal/placeholder"
)

// placeholders checks the texts of args and env.
func (d *decoder) placeholders(at string, p Pool) {
	for i, text := range p.Args {
		d.placeholder(at+".args", fmt.Sprintf("args[%d]", i), text, p, p.Mode == "preload")
	}
	for name, text := range p.Env {
		key := at + ".env." + name
		switch {
		case !variableName.MatchString(name):
			d.bad(key, "is no name of a variable")
		case strings.HasPrefix(name, "OARLOCK_"):
			d.bad(key, "names that begin with OARLOCK_ are ours")
		case p.Mode == "once" && !p.mayVary(name): // another mode refuses what is of a job anyway
			if of := slices.IndexFunc(namesOf(text), placeholder.Name.Chosen); of >= 0 {
				d.bad(key, `%v is what the job says, and a variable can decide what the program runs: use JOB or a name that begins with JOB_, or list it: env_from_job = [%q]`, namesOf(text)[of], name)
			}
		}
		d.placeholder(key, name, text, p, false)
	}
	for _, name := range p.EnvFromJob {
		if _, is := p.Env[name]; !is {
			d.bad(at+".env_from_job", "%q is not in env", name)
		}
	}
	if code := p.runsCode(); code != "" && len(p.Args) > 0 && slices.ContainsFunc(namesOf(p.Args[0]), placeholder.Name.OfJob) {
		d.bad(at+".args", `what follows %s is run as a program: whoever writes the job would write it. Let the program be a text of yours, and the job its arguments: command = ["sh", "-c", 'convert "$1" out.png', "sh"], args = ["{data.path}"]`, code)
	}
}

// placeholder checks one text, which stands at a key; loaded says that it is of a program
// which is loaded once, for all slots.
func (d *decoder) placeholder(key, where, text string, p Pool, loaded bool) {
	parsed, err := placeholder.Parse(text)
	if err != nil {
		hint := ""
		if unknown, is := errors.AsType[placeholder.UnknownError](err); is {
			if near := Nearest(unknown.What, placeholder.Names); near != "" {
				hint = fmt.Sprintf("; did you mean {%s}?", near)
			}
		}
		d.bad(key, "%s: %v%s", where, err, hint)
		return
	}
	for _, name := range parsed.Names() {
		switch {
		case name.OfJob() && p.Mode != "once":
			d.bad(key, `%s: %v needs mode = "once": with %q a child is started before its job is known`, where, name, p.Mode)
		case p.Mode == "preload" && name.What == placeholder.Dir, loaded && name.What == placeholder.Slot:
			d.bad(key, `%s: %v has no meaning here: with mode = "preload" the program is loaded once for all`, where, name)
		case name.What == placeholder.Dir && !p.Sandbox.PrivateDir:
			d.bad(key, "%s: %v needs sandbox.private_dir = true", where, name)
		}
	}
}

// namesOf returns the placeholders of a text; none if it is wrong.
func namesOf(text string) []placeholder.Name {
	parsed, _ := placeholder.Parse(text)
	return parsed.Names()
}

// mayVary reports whether a variable may have what a job says. So many decide what a program loads, runs or obeys (LD_PRELOAD,
// PERL5DB, GIT_SSH_COMMAND, PS4, OPENSSL_CONF …), and each new program brings its own, that it is the others that are listed.
func (p Pool) mayVary(name string) bool {
	return name == "JOB" || strings.HasPrefix(name, "JOB_") || slices.Contains(p.EnvFromJob, name)
}

// codeOption is an option of interpreters behind which a program stands, as in sh -ec.
var codeOption = regexp.MustCompile(`^-[a-z]*[ce]$`)

// runsCode returns the option with which the command ends, if its next argument is a program.
func (p Pool) runsCode() string {
	last := len(p.Command) - 1
	interpreters := []string{"sh", "bash", "dash", "ash", "ksh", "zsh", "python", "python3", "perl", "ruby", "node", "php"}
	if last < 1 || !codeOption.MatchString(p.Command[last]) || !slices.Contains(interpreters, filepath.Base(p.Command[0])) {
		return ""
	}
	return p.Command[last]
}

// Optional returns the first text of args that is a value of the job's from its beginning, and
// so might be taken for an option by the program: nothing but it decides that. It is "" if
// there is none, or if -- or an option that it may be the value of stands before it.
func (p Pool) Optional() string {
	words := slices.Concat(p.Command, p.Args)
	for i, text := range p.Args {
		before := words[:len(p.Command)+i]
		if slices.Contains(before, "--") {
			return ""
		}
		parsed, err := placeholder.Parse(text)
		if err != nil {
			continue
		}
		if name, is := parsed.Begins(); is && name.OfJob() && (len(before) == 0 || !strings.HasPrefix(before[len(before)-1], "-")) {
			return text
		}
	}
	return ""
}
