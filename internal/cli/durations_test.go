package cli

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// Whatever option takes a duration says how to write one.
func TestDurationsNameTheirUnits(t *testing.T) {
	s := newScript(t, "")
	asked := 0
	var walk func(commands []*cli.Command, path []string)
	walk = func(commands []*cli.Command, path []string) {
		for _, command := range commands {
			path := append(path[:len(path):len(path)], command.Name)
			walk(command.Subcommands, path)
			for _, flag := range command.Flags {
				if _, is := flag.(*cli.DurationFlag); !is {
					continue
				}
				name := "--" + flag.Names()[0]
				for value, want := range map[string]string{
					"3600": `"3600" has no unit; write "3600s" for seconds`,
					"1.5":  `"1.5" has no unit; write "1.5s" for seconds`,
					"soon": `"soon" is no duration; use h, m, s, ms as in "1h30m"`,
					"":     `"" is no duration; use h, m, s, ms as in "1h30m"`,
					"1d":   `"1d" is no duration; use h, m, s, ms as in "1h30m"`,
					"5 s":  `"5 s" is no duration; use h, m, s, ms as in "1h30m"`,
				} {
					asked++
					code := s.anyCode(append(path[:len(path):len(path)], name+"="+value))
					if said := s.said["stderr"]; code != exitUsage && code != exitData || !strings.Contains(said, name+": "+want) {
						t.Errorf("%s %s=%s: exit code %d, %s", strings.Join(path, " "), name, value, code, said)
					}
				}
			}
		}
	}
	walk(Program{}.commands(), nil)
	if asked < 60 {
		t.Errorf("only %d values were tried", asked)
	}
	if s.anyCode([]string{"put", "q", "{}", "--retries", "many"}) != exitUsage || !strings.Contains(s.said["stderr"], `--retries: "many" is no number`) {
		t.Errorf("it says %s", s.said["stderr"])
	}
}
