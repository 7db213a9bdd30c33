package plan

import (
	"os/user"
	"slices"
	"testing"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

// A child under another user has that user's home, name and shell, unless the pool says
// otherwise.
func TestHomeOfAnotherUser(t *testing.T) {
	for name, value := range map[string]string{"HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/zsh", "OTHER": "stays"} {
		t.Setenv(name, value)
	}
	nobody := must.Get(user.Lookup("nobody"))(t)
	named := []string{"HOME=" + nobody.HomeDir, "LOGNAME=nobody", "SHELL=" + shellOf("nobody"), "USER=nobody"}
	for _, tt := range []struct {
		name    string
		sandbox config.Sandbox
		want    []string
		never   []string // variables that are not there
	}{
		{"ours", config.Sandbox{}, []string{"HOME=/root", "LOGNAME=root", "SHELL=/bin/zsh", "USER=root", "OTHER=stays"}, nil},
		{"by name", config.Sandbox{User: "nobody"}, append(named, "OTHER=stays"), nil},
		{"by number", config.Sandbox{User: nobody.Uid}, named, nil},
		{"a number nobody has", config.Sandbox{User: "54321", Group: "54321"}, []string{"HOME=/", "SHELL=/bin/sh"}, []string{"USER", "LOGNAME"}},
		{"set by the pool", config.Sandbox{User: "nobody", Env: map[string]string{"HOME": "/srv"}}, []string{"HOME=/srv", "USER=nobody"}, nil},
		{"only what is named", config.Sandbox{User: "nobody", EnvOnly: []string{"HOME"}}, named[:1], []string{"USER", "SHELL", "OTHER"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := config.DefaultPool()
			tt.sandbox.Kill = pool.Sandbox.Kill
			pool.Sandbox = tt.sandbox
			pool.Command = []string{"true"}
			spec := must.Get(Spec("p", pool))(t)
			for _, pair := range tt.want {
				if !slices.Contains(spec.Env, pair) {
					t.Errorf("there is no %s in %q", pair, spec.Env)
				}
			}
			for _, name := range tt.never {
				if slices.ContainsFunc(spec.Env, func(pair string) bool { return len(pair) > len(name) && pair[:len(name)+1] == name+"=" }) {
					t.Errorf("there is %s in %q", name, spec.Env)
				}
			}
		})
	}
}
