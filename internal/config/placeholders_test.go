package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestPlaceholdersAreChecked(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{`args = ["--width", "{data.width}", "{data.path}"]`, ""},
		{`env = { JOB = "{jid}", CUDA_VISIBLE_DEVICES = "{slot}" }`, ""},
		{`args = ["{{literal}}", "{dir}/out"]`, ""},
		{`args = ["{jib}"]`, `args[0]: there is no placeholder {jib}; there are pool, slot, dir, jid, klass, queue, attempt, data; did you mean {jid}?`},
		{`args = ["a", '{"x":1}']`, `args[1]: there is no placeholder {"x":1}`},
		{`args = ["{"]`, `write "{{" for the brace itself`},
		{`args = [7]`, "must be a string"},
		{`env = { "A B" = "x" }`, "is no name of a variable"},
		{`env = { OARLOCK_SLOT = "x" }`, "names that begin with OARLOCK_ are ours"},
		{`env = { LD_PRELOAD = "{data.lib}" }`, `pools.p.env.LD_PRELOAD: {data.lib} is what the job says`},
		{`env = { PATH = "/opt/{jid}" }`, `env_from_job = ["PATH"]`},
		{`env = { LD_PRELOAD = "/lib/ours.so", PATH = "/opt/{slot}" }`, ""},
		{`env = { X = "{data..a}" }`, "is no path through the data"},
		{`env = { X = "{dir}" }
sandbox = { private_dir = false }`, "needs sandbox.private_dir"},
		{`mode = "reuse"
args = ["{slot}", "{pool}", "{dir}"]`, ""},
		{`mode = "reuse"
args = ["{data.x}"]`, `{data.x} needs mode = "once": with "reuse" a child is started before its job is known`},
		{`mode = "reuse"
env = { X = "{jid}" }`, `X: {jid} needs mode = "once"`},
		{`mode = "preload"
args = ["{pool}"]
env = { X = "{slot}" }`, ""},
		{`mode = "preload"
args = ["{slot}"]`, `{slot} has no meaning here`},
		{`mode = "preload"
env = { X = "{dir}" }`, `{dir} has no meaning here`},
		{`mode = "preload"
env = { X = "{data}" }`, `needs mode = "once"`},
		{`command = ["sh", "-c"]
args = ["convert {data.path}"]`, "what follows -c is run as a program"},
		{`command = ["/usr/bin/env", "-c"]
args = ["{data.path}"]`, ""},
		{`command = ["sh", "-c", 'echo "$1"', "sh"]
args = ["{data.path}"]`, ""},
	} {
		if !strings.Contains(tt.keys, "command") {
			tt.keys += "\ncommand = [\"true\"]"
		}
		_, err := Load(Options{Path: write(t, "c.toml", "[pools.p]\nqueues = [\"q\"]\n"+tt.keys), Env: environment()})
		var problems Problems
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (!errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s\ngives %v, want %q", tt.keys, err, tt.want)
		}
	}
}

func TestOptional(t *testing.T) {
	for args, want := range map[string]string{
		`{data.path}`:                  "{data.path}",
		`--width {data.w} {data.path}`: "{data.path}",
		`--width {data.w}`:             "",
		`-- {data.path}`:               "",
		`./{data.path} {slot}`:         "",
		`{slot} {jid}`:                 "{jid}",
	} {
		p := Pool{Command: []string{"convert"}, Args: strings.Fields(args)}
		if got := p.Optional(); got != want {
			t.Errorf("of %q %q may be an option, want %q", args, got, want)
		}
	}
	if got := fmt.Sprint((&Pool{Command: []string{"git", "--"}, Args: []string{"{jid}"}}).Optional()); got != "" {
		t.Errorf("behind -- %q may be an option", got)
	}
}
