package setup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

// printUnit is what unit prints for a configuration that lies at path.
func printUnit(t *testing.T, cfg config.Config, program, path, user string) string {
	t.Helper()
	unit := must.Get(UnitFor(cfg, program, path, user))(t)
	var printed strings.Builder
	must.Do(t, unit.Print(&printed))
	return printed.String()
}

// onePool is the default configuration with one pool, changed.
func onePool(change func(*config.Config, *config.Pool)) config.Config {
	cfg, pool := config.Defaults(), config.DefaultPool()
	pool.Command, pool.Sandbox.Dir = []string{"true"}, "/srv"
	change(&cfg, &pool)
	cfg.Pools["default"] = pool
	return cfg
}

// What unit prints for the defaults is what the packages install.
func TestUnitIsThePackagedOne(t *testing.T) {
	packaged := must.Get(os.ReadFile("../../packaging/systemd/oarlock.service"))(t)
	printed := printUnit(t, onePool(func(*config.Config, *config.Pool) {}), "/usr/bin/oarlock", "/etc/oarlock/config.toml", "oarlock")
	top, got, _ := strings.Cut(printed, "[Unit]")
	_, want, _ := strings.Cut(string(packaged), "[Unit]")
	if got != want {
		t.Errorf("unit prints\n%s\nthe packages install\n%s", got, want)
	}
	if strings.Contains(top, "MIND") {
		t.Errorf("unit minds the defaults: %s", top)
	}
}

func isUnnamed(err error) bool {
	_, is := errors.AsType[*NameError](err)
	return is
}

// settings are those of a unit; of repeated ones all.
func settings(unit string) map[string][]string {
	set := map[string][]string{}
	for line := range strings.Lines(unit) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(name, "#") {
			set[name] = append(set[name], value)
		}
	}
	return set
}

// A unit grants what sandboxes ask for, and not a right more.
func TestUnitGrantsWhatSandboxesNeed(t *testing.T) {
	tests := map[string]struct {
		user   string
		change func(*config.Sandbox)
		want   string
		mode   string
	}{
		"nothing":          {"oarlock", func(s *config.Sandbox) { s.Nice, s.OOMScoreAdj = 10, 500 }, "", "0750"},
		"another user":     {"oarlock", func(s *config.Sandbox) { s.User = "nobody" }, "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_KILL CAP_SETGID CAP_SETUID", "0711"},
		"with no room":     {"oarlock", func(s *config.Sandbox) { s.User, s.PrivateDir = "nobody", false }, "CAP_KILL CAP_SETGID CAP_SETUID", "0750"},
		"itself":           {"daemon", func(s *config.Sandbox) { s.User, s.PrivateDir = "daemon", false }, "CAP_SETGID", "0750"},
		"itself, a number": {"daemon", func(s *config.Sandbox) { s.User, s.PrivateDir = "1", false }, "CAP_SETGID", "0750"},
		"another group":    {"oarlock", func(s *config.Sandbox) { s.Group = "mail" }, "CAP_CHOWN CAP_SETGID", "0750"},
		"to be in front":   {"oarlock", func(s *config.Sandbox) { s.Nice = -5 }, "CAP_SYS_NICE", "0750"},
		"to be spared":     {"oarlock", func(s *config.Sandbox) { s.OOMScoreAdj = -100 }, "CAP_SYS_RESOURCE", "0750"},
	}
	for name, tt := range tests {
		cfg := onePool(func(_ *config.Config, p *config.Pool) { tt.change(&p.Sandbox) })
		set := settings(printUnit(t, cfg, "/usr/bin/oarlock", "/etc/oarlock/config.toml", tt.user))
		ambient := strings.Join(set["AmbientCapabilities"], "|")
		if bounds := strings.Join(set["CapabilityBoundingSet"], "|"); bounds != tt.want || ambient != tt.want || len(set["CapabilityBoundingSet"]) != 1 {
			t.Errorf("%s: AmbientCapabilities=%s, CapabilityBoundingSet=%s; want %s", name, ambient, bounds, tt.want)
		}
		if mode := set["StateDirectoryMode"]; len(mode) != 1 || mode[0] != tt.mode {
			t.Errorf("%s: StateDirectoryMode=%v, want %s", name, mode, tt.mode)
		}
	}
}

func TestUnitFindsTheStateDirectory(t *testing.T) {
	for dir, want := range map[string]map[string]string{
		"":                       {"StateDirectory": "oarlock", "ReadWritePaths": ""},
		"/var/lib/mail/oarlock/": {"StateDirectory": "mail/oarlock", "ReadWritePaths": ""},
		"/srv/oarlock":           {"StateDirectory": "", "ReadWritePaths": "-/srv/oarlock", "RequiresMountsFor": "/srv/oarlock"},
		"/srv/my 50% $x":         {"StateDirectory": "", "ReadWritePaths": `-"/srv/my 50%% $x"`, "RequiresMountsFor": `"/srv/my 50%% $x"`},
		"/var/lib/a b":           {"StateDirectory": "", "ReadWritePaths": `-"/var/lib/a b"`},
	} {
		cfg := onePool(func(c *config.Config, _ *config.Pool) { c.Supervisor.StateDir = dir })
		unit := printUnit(t, cfg, "/usr/bin/oarlock", "/etc/oarlock/config.toml", "oarlock")
		set := settings(unit)
		for name, value := range want {
			if got := strings.Join(set[name], "|"); got != value {
				t.Errorf("state_dir %q: %s=%s, want %s", dir, name, got, value)
			}
		}
		if made := "install -d -o oarlock -g oarlock -m 0750 '" + dir + "'"; want["StateDirectory"] == "" && !strings.Contains(unit, made) {
			t.Errorf("state_dir %q: nobody says %s", dir, made)
		}
	}
	cfg := onePool(func(c *config.Config, _ *config.Pool) { c.Supervisor.StateDir = "state" })
	var wrong config.Problems
	if _, err := UnitFor(cfg, "/usr/bin/oarlock", "/c.toml", "oarlock"); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "a service starts in /") {
		t.Errorf("a relative state_dir: %v", err)
	}
}

// What a unit cannot grant it says, at its top and to whoever prints it.
func TestUnitSaysWhatItCannotGrant(t *testing.T) {
	for want, change := range map[string]func(*config.Config, *config.Pool){
		`redis.url is "embedded"`:                        func(c *config.Config, _ *config.Pool) { c.Redis.URL = "embedded" },
		"All jobs are gone with each stop":               func(c *config.Config, _ *config.Pool) { c.Redis.URL = "embedded" },
		"pools.default.sandbox.no_new_privs = false has": func(_ *config.Config, p *config.Pool) { p.Sandbox.NoNewPrivs = false },
		"pools.default.sandbox.dir, /tmp/x, is out of":   func(_ *config.Config, p *config.Pool) { p.Sandbox.Dir = "/tmp/x" },
		"supervisor.state_dir, /var/tmp/x, is out of":    func(c *config.Config, _ *config.Pool) { c.Supervisor.StateDir = "/var/tmp/x" },
		`/tmp/x\nUser=root, is out of`:                   func(_ *config.Config, p *config.Pool) { p.Sandbox.Dir = "/tmp/x\nUser=root" },
	} {
		unit := printUnit(t, onePool(change), "/usr/bin/oarlock", "/etc/oarlock/config.toml", "oarlock")
		top, _, _ := strings.Cut(unit, "[Unit]")
		if !strings.Contains(top, "# MIND: ") || !strings.Contains(top, want) {
			t.Errorf("%q is not at the top of\n%s", want, unit)
		}
	}
}

// words are those of a command line as systemd reads it: quotes, specifiers, variables.
func words(t *testing.T, line string) (all []string) {
	t.Helper()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var word strings.Builder
		quoted := line[0] == '"'
		if quoted {
			line = line[1:]
		}
		for {
			if line == "" {
				if quoted {
					t.Fatal("a quote is not closed")
				}
				break
			}
			c := line[0]
			line = line[1:]
			if quoted && c == '"' || !quoted && c == ' ' {
				break
			}
			if (c == '\\' || c == '%' && line[0] == '%') && line != "" {
				c, line = line[0], line[1:]
			} else if c == '%' {
				t.Fatalf("a specifier: %%%c", line[0])
			}
			word.WriteByte(c)
		}
		all = append(all, word.String())
	}
	for i := range all[1:] {
		if name := strings.ReplaceAll(all[i+1], "$$", ""); strings.Contains(name, "$") && name != "$MAINPID" {
			t.Fatalf("a variable in %q", all[i+1])
		}
		all[i+1] = strings.ReplaceAll(all[i+1], "$$", "$")
	}
	return all
}

// Whatever stands in paths, systemd runs the program with the configuration that was meant.
func TestUnitQuotesPaths(t *testing.T) {
	for _, dir := range []string{"/opt/a b", "/opt/50%h", "/opt/$HOME", "/opt/${HOME}", "/opt/é", "/opt/a;b", "/opt/#", "/opt/%%", "/opt/@x,y:z"} {
		for _, file := range []string{"c.toml", "my c.toml", `"c".toml`, `it's.toml`, `back\slash.toml`, "$MAINPID.toml", "100%.toml", "$$.toml"} {
			program, path := dir+"/oarlock", dir+"/"+file
			set := settings(printUnit(t, onePool(func(*config.Config, *config.Pool) {}), program, path, "oarlock"))
			if got, want := words(t, set["ExecStart"][0]), []string{program, "run", "-c", path}; !slices.Equal(got, want) {
				t.Errorf("%q is read as %q", want, got)
			}
			if got, want := words(t, set["ExecReload"][0]), []string{program, "reload", "-c", path, "--pid", "$MAINPID"}; !slices.Equal(got, want) {
				t.Errorf("%q is read as %q", want, got)
			}
		}
	}
	for _, program := range []string{`/opt/"x"/oarlock`, `/opt/it's/oarlock`, `/opt/a\b/oarlock`, "/opt/a\nb/oarlock"} {
		if _, err := UnitFor(onePool(func(*config.Config, *config.Pool) {}), program, "/c.toml", "oarlock"); !isUnnamed(err) {
			t.Errorf("%q: %v", program, err)
		}
	}
	if _, err := UnitFor(onePool(func(*config.Config, *config.Pool) {}), "/oarlock", "/c\n.toml", "oarlock"); !isUnnamed(err) {
		t.Error(err)
	}
}

// systemd itself takes what is printed, for configurations that want everything.
func TestSystemdTakesTheUnit(t *testing.T) {
	must.Have(t, "systemd-analyze")
	for name, change := range map[string]func(*config.Config, *config.Pool){
		"plain": func(*config.Config, *config.Pool) {},
		"all": func(c *config.Config, p *config.Pool) {
			c.Supervisor.StateDir, c.Redis.URL = "/srv/my 50% $x", "embedded"
			p.Sandbox.User, p.Sandbox.Nice, p.Sandbox.OOMScoreAdj, p.Sandbox.NoNewPrivs = "nobody", -5, -100, false
		},
	} {
		dir := filepath.Join(t.TempDir(), `50%h of $HOME; é`)
		must.Do(t, os.Mkdir(dir, 0o755))
		program := filepath.Join(dir, "oar lock")
		must.Do(t, os.Symlink("/bin/true", program))
		unit := filepath.Join(t.TempDir(), "oarlock.service")
		text := printUnit(t, onePool(change), program, filepath.Join(dir, `"it's" c.toml`), "daemon")
		must.Do(t, os.WriteFile(unit, []byte(text), 0o600))
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, text)
		}
	}
}
