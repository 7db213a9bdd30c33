// Package setup makes what a host is set up with: the first configuration with its script, and the systemd unit that
// fits a configuration. It owns the text of both, and what a unit must grant. It knows configurations, but not
// how a service runs, nor Redis.
package setup

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"oarlock/internal/config"
)

// lastWords is what a stop may take beside draining and killing: settling, while Redis
// is slow to answer, and leaving.
const lastWords = 20 * time.Second

// leastFiles is how many open files a supervisor may have in any case.
const leastFiles = 65536

//go:embed unit.service
var unitSource string

// unitText is the unit that the packages install, with what depends on a configuration
// left open.
var unitText = template.Must(template.New("unit").Parse(unitSource))

// Unit is what it leaves open, for one configuration. Paths are quoted as a unit wants them.
type Unit struct {
	Program, Config string
	User, Group     string
	limits
	needs
}

// limits are the numbers among them.
type limits struct {
	Stop  int // seconds that a stop may take
	Files int // that may be open
}

// Print writes the text of the unit.
func (u *Unit) Print(w io.Writer) error { return unitText.Execute(w, u) }

// NameError says that a unit cannot name a program, a file or a user.
type NameError struct{ why string }

func (e *NameError) Error() string { return e.why }

func unnamed(format string, args ...any) error { return &NameError{fmt.Sprintf(format, args...)} }

// userName is what a unit may call a user.
var userName = regexp.MustCompile(`^([a-z_][a-z0-9_.-]*|[0-9]+)$`)

// UnitFor is the unit of the service that runs program, as user, with the configuration cfg of the absolute path path.
// The error is a *NameError, or config.Problems of what no service can have.
func UnitFor(cfg config.Config, program, path, user string) (*Unit, error) {
	if !userName.MatchString(user) {
		return nil, unnamed("--user: %q is no name of a user", user)
	}
	if strings.ContainsAny(program, `"'\`) {
		return nil, unnamed("systemd starts no program with quotes or backslashes in its path: move %s", program)
	}
	for _, path := range []string{program, path, cfg.Supervisor.StateDir} {
		if strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path) {
			return nil, unnamed("no unit can name %q: rename it", path)
		}
	}
	if dir := cfg.Supervisor.StateDir; dir != "" && !filepath.IsAbs(dir) {
		return nil, config.Problems{{File: cfg.Path, Key: "supervisor.state_dir", Why: fmt.Sprintf("%q is relative, and a service starts in /: write the whole path", dir)}}
	}
	return &Unit{
		Program: unitWord(program, false), Config: unitWord(path, true),
		User: user, Group: primaryGroup(user),
		limits: limitsOf(cfg), needs: needsOf(cfg, program, path, user),
	}, nil
}

func limitsOf(cfg config.Config) limits {
	var grace config.Duration
	children, files := 0, leastFiles
	for _, pool := range cfg.Pools {
		grace = max(grace, pool.KillGrace)
		children += max(pool.Children, pool.MaxChildren)
		files = max(files, pool.Sandbox.Limits.NoFile)
	}
	stop := time.Duration(cfg.Supervisor.DrainTimeout) + time.Duration(grace) + lastWords
	return limits{
		Stop:  int(math.Ceil(stop.Seconds())),
		Files: max(files, 1024+16*children), // the pipes and the control group of each, with room
	}
}

// Misfits compares the text of a unit with what the configuration needs of one, a sentence for each key that is wrong.
func Misfits(unit string, cfg config.Config) (misfits []string) {
	need, has := limitsOf(cfg), map[string]string{}
	for line := range strings.Lines(unit) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			has[key] = value
		}
	}
	add := func(format string, args ...any) { misfits = append(misfits, fmt.Sprintf(format, args...)) }
	if stop, err := strconv.Atoi(strings.TrimSuffix(has["TimeoutStopSec"], "s")); err != nil || stop < need.Stop {
		add("TimeoutStopSec=%s is too short: draining, killing and the last words take up to %d seconds.", has["TimeoutStopSec"], need.Stop)
	}
	if has["KillMode"] != "mixed" {
		add("KillMode=%s ends the children together with the supervisor, which could not let them finish; it should be mixed.", has["KillMode"])
	}
	if has["Type"] != "notify" {
		add("Type=%s does not tell systemd when the supervisor is ready; it should be notify.", has["Type"])
	}
	if !strings.Contains(has["RestartPreventExitStatus"], "78") {
		add("RestartPreventExitStatus=%s lets systemd restart it again and again with a bad configuration; it should be 64 78.", has["RestartPreventExitStatus"])
	}
	if files, err := strconv.Atoi(has["LimitNOFILE"]); err == nil && files < need.Files {
		add("LimitNOFILE=%d is too low for so many children: it should be %d.", files, need.Files)
	}
	return misfits
}

// plainInUnit needs no quotes in a unit.
var plainInUnit = regexp.MustCompile(`^[A-Za-z0-9_./+:@,-]+$`)

// unitWord is text as one word of a unit: nothing in it begins a specifier, a word or, where
// it is an argument of a program, the name of a variable.
func unitWord(text string, argument bool) string {
	if plainInUnit.MatchString(text) {
		return text
	}
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(text)
	if argument {
		text = strings.ReplaceAll(text, `$`, `$$`)
	}
	return `"` + text + `"`
}
