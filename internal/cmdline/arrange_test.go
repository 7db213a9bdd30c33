package cmdline

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestArrange(t *testing.T) {
	app := &cli.App{
		Flags: []cli.Flag{&cli.StringFlag{Name: "config", Aliases: []string{"c"}}},
		Commands: []*cli.Command{
			{Name: "put", Flags: []cli.Flag{&cli.IntFlag{Name: "priority", Aliases: []string{"p"}}, &cli.BoolFlag{Name: "json"}}},
			{Name: "queue", Subcommands: []*cli.Command{{Name: "ls", Aliases: []string{"list"}, Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}}}}},
			{Name: "try", Flags: []cli.Flag{&cli.StringFlag{Name: "job"}}},
		},
	}
	tests := []struct{ in, want string }{
		{"put q data", "put -- q data"},
		{"put q data --priority 3", "put --priority=3 -- q data"},
		{"put q -p=3 data --json", "put --priority=3 --json -- q data"},
		{"put q -c f data", "--config=f put -- q data"},
		{"-c f put q", "--config=f put -- q"},
		{"put q -5", "put -- q -5"},
		{"put q -", "put -- q -"},
		{"put q -- --json", "put -- q --json"},
		{"put --priority", "put --priority"},
		{"queue list --json", "queue list --json"},
		{"queue", "queue"},
		{"try sh -c x --job 1", "try --job=1 -- sh -c x"},
		{"try -c f sh -c x", "--config=f try -- sh -c x"},
		{"help", "help"},
		{"help put", "put --help"},
		{"help queue ls", "queue ls --help"},
		{"put q data --help", "put --help"},
		{"-c f queue ls x -h --json", "queue ls --help"},
		{"try sh --help", "try -- sh --help"},
	}
	for _, tt := range tests {
		got, err := Arrange(app, strings.Fields("oarlock "+tt.in))
		if text := strings.Join(got, " "); err != nil || text != "oarlock "+tt.want {
			t.Errorf("%s became %q, %v; want oarlock %s", tt.in, text, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		"pt q":            "there is no command `oarlock pt`; did you mean `oarlock put`?",
		"queue lss":       "there is no command `oarlock queue lss`; did you mean `oarlock queue ls`?",
		"put --pririty 3": "there is no option --pririty; did you mean --priority?\nSee `oarlock put --help`.",
		"help sing":       "there is no command `oarlock sing`\nSee `oarlock --help`.",
		"sing":            "there is no command `oarlock sing`\nSee `oarlock --help`.",
	} {
		if _, err := Arrange(app, strings.Fields("oarlock "+in)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}
