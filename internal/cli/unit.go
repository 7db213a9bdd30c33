package cli

import (
	_ "embed"
	"math"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/urfave/cli/v2"

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

// unitValues are what it leaves open.
type unitValues struct {
	Program, Config, User string
	Stop                  int // seconds
	Files                 int
}

func unitCommand() *cli.Command {
	return &cli.Command{
		Name:        "unit",
		Usage:       "print a systemd unit whose times fit the configuration",
		Description: "oarlock unit -c /etc/oarlock/config.toml > /etc/systemd/system/oarlock.service",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "user", Value: "oarlock", Usage: "run as `USER`"}},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
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
			return unitText.Execute(c.App.Writer, unitFor(cfg, program, path, c.String("user")))
		},
	}
}

// unitFor says what the unit of a configuration needs.
func unitFor(cfg config.Config, program, path, user string) unitValues {
	var grace config.Duration
	children := 0
	for _, pool := range cfg.Pools {
		grace = max(grace, pool.KillGrace)
		children += max(pool.Children, pool.MaxChildren)
	}
	stop := time.Duration(cfg.Supervisor.DrainTimeout) + time.Duration(grace) + lastWords
	return unitValues{
		Program: program, Config: path, User: user,
		Stop:  int(math.Ceil(stop.Seconds())),
		Files: max(leastFiles, 1024+16*children), // the pipes and the control group of each, with room
	}
}
