package cli

import (
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
)

func (p Program) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				System  string `json:"system"`
			}{p.version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return answer(c, v, func(w io.Writer) {
				screen.Printf(w, "oarlock %s (%s, %s)\n", v.Version, v.Go, v.System)
			})
		},
	}
}

// version is what the linker was told, or else the revision that the build saw.
func (p Program) version() string {
	if p.Version != "" {
		return p.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return setting.Value[:12]
		}
	}
	return info.Main.Version
}
