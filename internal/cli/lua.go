package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/queue"
)

func luaCommand() *cli.Command {
	return &cli.Command{
		Name:     "lua",
		Usage:    "print the script that clients in other languages load, or load it",
		Category: "jobs in Redis",
		Description: "It answers to the commands of qless and of reqless. Where both have a command of one\n" +
			"name, --dialect says whose it is.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "install", Usage: "load it into Redis and print its SHA"},
			&cli.StringFlag{Name: "dialect", Value: string(queue.Qless), Usage: "qless or reqless"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			dialect := queue.Dialect(c.String("dialect"))
			if err := config.OneOf(string(dialect), []string{string(queue.Qless), string(queue.Reqless)}); err != nil {
				return misused("--dialect: %v", err)
			}
			if c.Bool("install") {
				client, err := open(c)
				if err != nil {
					return err
				}
				defer client.Close()
				sha, err := client.Install(c.Context, dialect)
				if err != nil {
					return err
				}
				return answer(c, map[string]string{"sha": sha}, func(w io.Writer) { screen.PrintLine(w, sha) })
			}
			cfg, err := load(c, config.Options{NoPools: true})
			if err != nil {
				return err
			}
			text := queue.Unified(cfg.Redis.Namespace, dialect)
			return answer(c, map[string]string{"script": text}, func(w io.Writer) { fmt.Fprint(w, text) })
		},
	}
}
