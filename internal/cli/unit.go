package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
)

// lastWords is what a stop takes beside draining and killing: settling, leaving Redis.
const lastWords = 10 * time.Second

var unitText = template.Must(template.New("unit").Parse(`# Printed by oarlock unit; times fit {{.Config}}.
[Unit]
Description=Oarlock, workers for jobs in Redis
Documentation=man:oarlock(1)
After=network-online.target redis-server.service
Wants=network-online.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={{.Program}} run -c {{.Config}}
ExecReload={{.Program}} reload -c {{.Config}}
WatchdogSec=30
Restart=on-failure
# A wrong command line or configuration does not get better by trying again.
RestartPreventExitStatus=64 78
# TERM goes to the supervisor only, which drains; what is left in the end is killed.
KillMode=mixed
# drain_timeout {{.Drain}} + the longest kill_grace {{.Grace}} + {{.Rest}}
TimeoutStopSec={{.Stop}}
# One child out of memory is a crash of its job, not the end of the service.
OOMPolicy=continue
# Control groups of our own: a child is killed with all that it started.
Delegate=yes
{{- if .User}}
User={{.User}}{{else}}
DynamicUser=yes{{end}}
StateDirectory=oarlock
StateDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=no
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
CapabilityBoundingSet=
LimitNOFILE={{.Files}}

[Install]
WantedBy=multi-user.target
`))

func unitCommand() *cli.Command {
	return &cli.Command{
		Name:        "unit",
		Usage:       "print a systemd unit whose times fit the configuration",
		Description: "oarlock unit -c /etc/oarlock/config.toml > /etc/systemd/system/oarlock.service",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "user", Usage: "run as `USER` (default: one that systemd makes up)"}},
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
			grace, children := demands(cfg)
			return unitText.Execute(c.App.Writer, map[string]any{
				"Program": program, "Config": path, "User": c.String("user"),
				"Drain": cfg.Supervisor.DrainTimeout, "Grace": grace, "Rest": lastWords,
				"Stop":  stopSeconds(cfg),
				"Files": 1024 + 16*children, // pipes, terminals and control groups of a child, with room
			})
		},
	}
}

// demands gives the longest kill_grace of the pools and how many children there can be.
func demands(cfg config.Config) (grace config.Duration, children int) {
	for _, pool := range cfg.Pools {
		grace = max(grace, pool.KillGrace)
		children += max(pool.Children, pool.MaxChildren)
	}
	return grace, children
}

// stopSeconds is how long a service manager should wait for a stop.
func stopSeconds(cfg config.Config) string {
	grace, _ := demands(cfg)
	total := time.Duration(cfg.Supervisor.DrainTimeout) + time.Duration(grace) + lastWords
	return fmt.Sprint(int(math.Ceil(total.Seconds())))
}
