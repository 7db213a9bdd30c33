package cli

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
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

// unitValues are what it leaves open. Paths are quoted as a unit wants them.
type unitValues struct {
	Program, Config string
	User, Group     string
	unitLimits
	unitNeeds
}

// unitLimits are the numbers among them.
type unitLimits struct {
	Stop  int // seconds that a stop may take
	Files int // that may be open
}

func unitCommand() *cli.Command {
	return &cli.Command{
		Name:        "unit",
		Usage:       "print a systemd unit that fits the configuration",
		Description: "oarlock unit -c /etc/oarlock/config.toml > /etc/systemd/system/oarlock.service",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "user", Value: "oarlock", Usage: "run as `USER`"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			for option, key := range overrides {
				if c.IsSet(option) {
					return misused("a unit is for what the file says: write %s into it, in place of --%s", key, option)
				}
			}
			cfg, err := load(c, config.Options{})
			if err == nil {
				err = needPools(cfg)
			}
			if err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			path, err := filepath.Abs(cfg.Path)
			if err != nil {
				return err
			}
			values, err := unitFor(cfg, program, path, c.String("user"))
			if err != nil {
				return err
			}
			for _, remark := range values.Remarks {
				screen.Printf(c.App.ErrWriter, "%s %s\n", screen.Paint(c.App.ErrWriter, screen.Yellow, "Mind:"), remark)
			}
			return unitText.Execute(c.App.Writer, values)
		},
	}
}

// userName is what a unit may call a user.
var userName = regexp.MustCompile(`^([a-z_][a-z0-9_.-]*|[0-9]+)$`)

// unitFor says what the unit of a configuration needs. The error is about a path or a user
// that no unit can name.
func unitFor(cfg config.Config, program, path, user string) (unitValues, error) {
	if !userName.MatchString(user) {
		return unitValues{}, misused("--user: %q is no name of a user", user)
	}
	if strings.ContainsAny(program, `"'\`) {
		return unitValues{}, misused("systemd starts no program with quotes or backslashes in its path: move %s", program)
	}
	for _, path := range []string{program, path, cfg.Supervisor.StateDir} {
		if strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path) {
			return unitValues{}, misused("no unit can name %q: rename it", path)
		}
	}
	if dir := cfg.Supervisor.StateDir; dir != "" && !filepath.IsAbs(dir) {
		return unitValues{}, config.Problems{{File: cfg.Path, Key: "supervisor.state_dir", Why: fmt.Sprintf("%q is relative, and a service starts in /: write the whole path", dir)}}
	}
	return unitValues{
		Program: unitWord(program, false), Config: unitWord(path, true),
		User: user, Group: primaryGroup(user),
		unitLimits: limitsOf(cfg), unitNeeds: needsOf(cfg, program, path, user),
	}, nil
}

func limitsOf(cfg config.Config) unitLimits {
	var grace config.Duration
	children, files := 0, leastFiles
	for _, pool := range cfg.Pools {
		grace = max(grace, pool.KillGrace)
		children += max(pool.Children, pool.MaxChildren)
		files = max(files, pool.Sandbox.Limits.NoFile)
	}
	stop := time.Duration(cfg.Supervisor.DrainTimeout) + time.Duration(grace) + lastWords
	return unitLimits{
		Stop:  int(math.Ceil(stop.Seconds())),
		Files: max(files, 1024+16*children), // the pipes and the control group of each, with room
	}
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
