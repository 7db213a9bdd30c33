package cli

import (
	"encoding/json"
	"io"

	"github.com/urfave/cli/v2"

	"oarlock/internal/service"
	"oarlock/internal/show"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:     "status",
		Usage:    "show the pools and children of a running supervisor",
		Category: "a running supervisor",
		Flags:    []cli.Flag{pidFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := s.Status(c.Context, &raw); err != nil {
				return err
			}
			var r service.Status
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			return answer(c, raw, func(w io.Writer) { show.Status(w, r) })
		},
	}
}
