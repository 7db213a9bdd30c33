package cli

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"oarlock/internal/connect"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/top"
	"oarlock/queue"
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name:     "top",
		Usage:    "watch a running supervisor, the queues and what failed, and steer them",
		Category: "a running supervisor",
		Description: "Pools and their children, queues, failures and all hosts, once a second; ? tells the keys. What changes\n" +
			"something asks first. Without a supervisor on this host, it shows what Redis tells.",
		Flags: []cli.Flag{
			pidFlag(),
			&cli.DurationFlag{Name: "every", Value: time.Second, Usage: "from one look to the next"},
			&cli.BoolFlag{Name: "read-only", Usage: "no key changes anything"},
			&cli.BoolFlag{Name: "once", Usage: "print one frame, and leave; needs no terminal"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			out, _ := screen.Under(c.App.Writer).(*os.File)
			if !c.Bool("once") && (!screen.IsTerminal(out) || !screen.IsTerminal(os.Stdin)) {
				return misused("top needs a terminal, for keys and for what it draws; `oarlock top --once` prints one frame, `oarlock status --json` is for programs")
			}
			o := top.Options{Every: max(c.Duration("every"), 100*time.Millisecond), ReadOnly: c.Bool("read-only"), In: os.Stdin, Out: out}
			source, closeIt, err := newTopSource(c)
			if err != nil {
				return err
			}
			defer closeIt()
			o.Source = source
			if !c.Bool("once") {
				return top.Run(c.Context, o)
			}
			frame, err := top.Once(c.Context, o, frameWidth(out))
			if errors.Is(err, queue.ErrAway) {
				var client *queue.Client
				if client, err = connect.Reach(c.Context, source.cfg.Redis); err == nil { // it is back
					client.Close()
					frame, err = top.Once(c.Context, o, frameWidth(out))
				}
			}
			if err != nil {
				return err
			}
			screen.Printf(c.App.Writer, "%s\n", screen.Painted(frame))
			return nil
		},
	}
}

// frameWidth is how wide a frame is that is printed: as the terminal, as COLUMNS says, or enough for most.
func frameWidth(out *os.File) int {
	if out != nil {
		if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width >= 40 {
		return width
	}
	return 160
}

// newTopSource is where top asks. What it is told of a configuration is printed before the screen is top's.
func newTopSource(c *cli.Context) (source *topSource, closeIt func(), err error) {
	cfg, err := loadNear(c)
	if err != nil {
		return nil, nil, err
	}
	client, err := connect.Looking(c.Context, cfg.Redis, nil)
	if err != nil {
		return nil, nil, err
	}
	return &topSource{cfg: cfg, pid: c.String("pid"), redis: client, caller: rollcall.New(client), secrets: service.WebRedactor(cfg.Web)}, func() { client.Close() }, nil
}
