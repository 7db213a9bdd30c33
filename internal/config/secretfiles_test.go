package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// secretKeys are the keys that name files of secrets, each in a file that is good but for what is tried.
var secretKeys = map[string]string{
	"redis.password_file": "[redis]\npassword_file = %q\n",
	"web.tokens_file":     "[web]\nlisten = \"127.0.0.1:1\"\ntokens_file = %q\n",
	"park.secret_file":    "[web]\nurl = \"http://x\"\n[park]\nsecret_file = %q\n",
}

// A file of secrets that others may write is refused as the configuration is; one that belongs to somebody else is doubted, and one
// that anybody can read is warned of. All that is silent where the configuration is trusted.
func TestFilesOfSecrets(t *testing.T) {
	if !isRoot(t) {
		return
	}
	for _, tt := range []struct {
		name                string
		make                func(t *testing.T, dir, file string)
		refused, doubt, can string // parts of the error, of the only doubt, and of the only warning
	}{
		{"ours", func(*testing.T, string, string) {}, "", "", ""},
		{"anybody reads it", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(file, 0o644)) }, "", "", "can be read by anybody on this host (mode -rw-r--r--); chmod o-r it"},
		{"anybody reads it, and nobody gets there", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Chmod(file, 0o644), os.Chmod(dir, 0o750)))
		}, "", "", ""},
		{"anybody reads it by a link", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Rename(file, file+".real"), os.Chmod(file+".real", 0o644), os.Symlink("secret.real", file)))
		}, "", "", "can be read by anybody"},
		{"anybody writes it", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(file, 0o602)) }, "can be written by anybody", "", ""},
		{"anybody replaces it", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(dir, 0o777)) }, "dir can be written by anybody", "", ""},
		{"a group writes it", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Chown(file, 0, somebody), os.Chmod(file, 0o660)))
		}, "by group 54321", "", ""},
		{"somebody's", func(t *testing.T, dir, file string) { give(t, file) }, "", "secret belongs to user 54321", ""},
		{"somebody's among those of others", func(t *testing.T, dir, file string) {
			give(t, file)
			must.Do(t, os.Lchown(dir, somebody+1, somebody))
		}, "and its directory", "", ""},
	} {
		for key, text := range secretKeys {
			dir := filepath.Join(t.TempDir(), "dir")
			file := filepath.Join(dir, "secret")
			must.Do(t, errors.Join(os.Mkdir(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.WriteFile(file, []byte(strings.Repeat("s", 64)), 0o600)))
			for up := filepath.Dir(dir); up != "/tmp" && up != "/"; up = filepath.Dir(up) {
				must.Do(t, os.Chmod(up, 0o755))
			}
			tt.make(t, dir, file)
			path := filepath.Join(t.TempDir(), "oarlock.toml")
			must.Do(t, os.WriteFile(path, fmt.Appendf(nil, text, file), 0o600))
			for _, trust := range []bool{false, true} {
				refused, doubt, can := tt.refused, tt.doubt, tt.can
				if trust {
					refused, doubt, can = "", "", ""
				}
				c, err := Load(Options{Path: path, Env: environment(), Trust: trust})
				if refused != "" {
					var problems Problems
					if !errors.As(err, &problems) || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), refused) || !strings.Contains(err.Error(), "--trust-config") {
						t.Errorf("%s %s: %v, want %q", key, tt.name, err, refused)
					}
					continue
				}
				must.Do(t, err)
				for what, pair := range map[string][2]string{"doubts": {strings.Join(c.Doubts, "\n"), doubt}, "warnings": {strings.Join(c.ReadableSecrets(), "\n"), can}} {
					if got, want := pair[0], pair[1]; (got == "") != (want == "") || !strings.Contains(got, want) || want != "" && !strings.HasPrefix(got, key+": ") {
						t.Errorf("%s %s, trusted %v: %s are %q, want %q", key, tt.name, trust, what, got, want)
					}
				}
			}
		}
	}
}

// Root uses a file of somebody else's that was named, says whose it is, and what to do; but not where a third one may put files.
func TestNamedFileOfSomebody(t *testing.T) {
	if !isRoot(t) {
		return
	}
	for _, tt := range []struct {
		name           string
		make           func(t *testing.T, dir, file string)
		refused, doubt string
	}{
		{"his, in a directory of ours", func(t *testing.T, dir, file string) { give(t, file) }, "", "belongs to user 54321"},
		{"his, in his directory", func(t *testing.T, dir, file string) { give(t, file, dir) }, "", "belongs to user 54321"},
		{"his, in anybody's directory", func(t *testing.T, dir, file string) { give(t, file); must.Do(t, os.Chmod(dir, 0o777)) }, "can be written by anybody", ""},
		{"his, in one like /tmp", func(t *testing.T, dir, file string) { give(t, file); must.Do(t, os.Chmod(dir, 0o777|os.ModeSticky)) }, "anybody may put files into", ""},
		{"ours, in one like /tmp", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(dir, 0o777|os.ModeSticky)) }, "", ""},
		{"his, in a third one's directory", func(t *testing.T, dir, file string) { give(t, file); must.Do(t, os.Lchown(dir, somebody+1, 0)) }, "to user 54322", ""},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		file := filepath.Join(dir, "oarlock.toml")
		must.Do(t, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, []byte("[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\n"), 0o644)))
		tt.make(t, dir, file)
		c, err := Load(Options{Path: file, Env: environment()})
		if (err != nil) != (tt.refused != "") || err != nil && (!strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "--trust-config")) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.refused)
		}
		doubts := strings.Join(c.Doubts, "\n")
		if (doubts == "") != (tt.doubt == "") || !strings.Contains(doubts, tt.doubt) || tt.doubt != "" && !strings.Contains(doubts, "chown it to root, or trust it with --trust-config") {
			t.Errorf("%s: doubts are %q, want %q", tt.name, doubts, tt.doubt)
		}
		if c, err := Load(Options{Path: file, Env: environment(), Trust: true}); err != nil || len(c.Doubts) > 0 {
			t.Errorf("%s, trusted: %v, %q", tt.name, err, c.Doubts)
		}
	}
}

// TestPathsStartWhereTheFileIs: each key that names a file is read from the directory of the configuration file, and not from where the
// program was started.
func TestPathsStartWhereTheFileIs(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "secret"), []byte(strings.Repeat("s", 40)+"\n"), 0o600))
	file := filepath.Join(dir, "oarlock.toml")
	must(os.WriteFile(file, []byte("[web]\nlisten = \"127.0.0.1:0\"\nurl = \"https://jobs.example.org\"\ntokens_file = \"secret\"\n[park]\nsecret_file = \"secret\"\n[redis]\npassword_file = \"secret\"\n"), 0o600))
	c, err := Load(Options{Path: file, NoPools: true, Env: func(string) (string, bool) { return "", false }, Trust: true})
	must(err)
	for _, path := range []string{c.Web.TokensFile, c.Park.SecretFile, c.Redis.PasswordFile} {
		if path != filepath.Join(dir, "secret") {
			t.Errorf("%s, not in %s", path, dir)
		}
	}
}
