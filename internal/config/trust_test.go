package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"

	"golang.org/x/sys/unix"
)

const somebody = 54321

// give makes files somebody's.
func give(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must.Do(t, os.Lchown(path, somebody, somebody))
	}
}

func isRoot(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("only root can give a file away")
		return false
	}
	return true
}

// Whose a file is, and who may write to it, is asked of all that leads to it.
func TestOrigin(t *testing.T) {
	if !isRoot(t) {
		return
	}
	for _, tt := range []struct {
		name    string
		make    func(t *testing.T, dir, file string)
		foreign string // part of it; "": nil
		open    string
	}{
		{"ours", func(*testing.T, string, string) {}, "", ""},
		{"of a group of ours", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(file, 0o664)) }, "", ""},
		{"somebody's", func(t *testing.T, dir, file string) { give(t, file) }, "file belongs to user 54321", ""},
		{"anybody's", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(file, 0o602)) }, "", "file can be written by anybody"},
		{"of another group", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Chown(file, 0, somebody), os.Chmod(file, 0o660)))
		}, "", "file can be written by group 54321"},
		{"in somebody's directory", func(t *testing.T, dir, file string) { give(t, dir) }, "dir belongs to user 54321", ""},
		{"below somebody's directory", func(t *testing.T, dir, file string) { give(t, filepath.Dir(dir)) }, "parent belongs to user 54321", ""},
		{"in anybody's directory", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(dir, 0o777)) }, "", "dir can be written by anybody"},
		{"below anybody's directory", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(filepath.Dir(dir), 0o777)) }, "", "parent can be written by anybody"},
		{"ours in a sticky directory", func(t *testing.T, dir, file string) { must.Do(t, os.Chmod(dir, 0o777|os.ModeSticky)) }, "", ""},
		{"somebody's in a sticky directory", func(t *testing.T, dir, file string) {
			must.Do(t, os.Chmod(dir, 0o777|os.ModeSticky))
			give(t, file)
		}, "file belongs to user 54321", ""},
		{"behind somebody's link", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Rename(file, file+".real"), os.Symlink("file.real", file)))
			give(t, file)
		}, "file belongs to user 54321", ""},
		{"behind a link to somebody's directory", func(t *testing.T, dir, file string) {
			other := filepath.Join(filepath.Dir(dir), "other")
			must.Do(t, errors.Join(os.Mkdir(other, 0o755), os.Rename(file, filepath.Join(other, "file")), os.Symlink("../other/file", file)))
			give(t, other)
		}, "other belongs to user 54321", ""},
		{"of a group of ours by its mode, and by its list of somebody", func(t *testing.T, dir, file string) {
			acl := "\x02\x00\x00\x00" + // version 2
				"\x01\x00\x06\x00\xff\xff\xff\xff" + // the owner: rw
				"\x02\x00\x06\x00\x31\xd4\x00\x00" + // user 54321: rw
				"\x04\x00\x04\x00\xff\xff\xff\xff" + // the group: r
				"\x10\x00\x06\x00\xff\xff\xff\xff" + // mask: rw
				"\x20\x00\x04\x00\xff\xff\xff\xff" // others: r
			if err := unix.Setxattr(file, "system.posix_acl_access", []byte(acl), 0); errors.Is(err, unix.ENOTSUP) {
				t.Skipf("SKIPPED the file system of %s keeps no access control lists", file)
			} else {
				must.Do(t, err)
			}
		}, "", "file has an access control list"},
		{"a pipe", func(t *testing.T, dir, file string) {
			must.Do(t, errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600), os.Chmod(dir, 0o777)))
		}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "parent", "dir")
			path := filepath.Join(dir, "file")
			must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, nil, 0o600)))
			tt.make(t, dir, path)
			file, err := os.OpenFile(path, os.O_RDWR, 0) // both ends of a pipe
			must.Do(t, err)
			defer file.Close()
			from := must.Get(originOf(path, file))(t)
			for what, pair := range map[string]struct {
				got  error
				want string
			}{"foreign": {from.foreign, tt.foreign}, "open": {from.open, tt.open}} {
				if (pair.got == nil) != (pair.want == "") || pair.got != nil && !strings.Contains(pair.got.Error(), pair.want) {
					t.Errorf("%s: %v, want %q", what, pair.got, pair.want)
				}
			}
		})
	}
}

// The file that was opened is the one that was looked at, or nobody knows whose it is.
func TestOriginOfAFileThatWasReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	must.Do(t, errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600)))
	if from, err := originOf(path, file); err != nil || from.foreign == nil || !strings.Contains(from.foreign.Error(), "replaced") {
		t.Errorf("foreign: %v, %v", from.foreign, err)
	}
}

// What was named is used with a warning; what was merely found is not, if it is somebody
// else's; and where others may write, root goes nowhere.
func TestWhichFileIsUsed(t *testing.T) {
	if !isRoot(t) {
		return
	}
	const pool = "[pools.%s]\nqueues = [\"q\"]\ncommand = [\"true\"]\n"
	type setup struct{ own, other, conf func(path string) } // what is done to oarlock.toml, to the next place's file, and to a file in conf.d
	somebodys := func(path string) { give(t, path) }
	anybodys := func(path string) { must.Do(t, os.Chmod(path, 0o666)) }
	for _, tt := range []struct {
		name  string
		setup setup
		named bool
		trust bool
		files string // that are used
		doubt string // part of the only doubt; "": there is none
		err   string // part of the error
	}{
		{"found", setup{}, false, false, "oarlock.toml conf.d/more.toml", "", ""},
		{"found, somebody's", setup{own: somebodys}, false, false, "other", "oarlock.toml is not used", ""},
		{"all found are somebody's", setup{own: somebodys, other: somebodys}, false, false, "", "is not used", ""},
		{"named, somebody's", setup{own: somebodys}, true, false, "oarlock.toml conf.d/more.toml", "may have been written by others", ""},
		{"trusted, somebody's", setup{own: somebodys}, false, true, "oarlock.toml conf.d/more.toml", "", ""},
		{"found, anybody's", setup{own: anybodys}, false, false, "", "", "root does not use it"},
		{"named, anybody's", setup{own: anybodys}, true, false, "", "", "--trust-config"},
		{"trusted, anybody's", setup{own: anybodys}, true, true, "oarlock.toml conf.d/more.toml", "", ""},
		{"somebody's beside it", setup{conf: somebodys}, true, false, "oarlock.toml", "conf.d/more.toml is not used", ""},
		{"somebody's beside what is his", setup{own: somebodys, conf: somebodys}, true, false, "oarlock.toml conf.d/more.toml", "may have been written by others", ""},
		{"anybody's beside it", setup{conf: anybodys}, false, false, "", "", "conf.d/more.toml: root does not use it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			must.Do(t, errors.Join(os.MkdirAll("xdg/oarlock", 0o755), os.Mkdir("conf.d", 0o755)))
			for path, how := range map[string]func(string){"oarlock.toml": tt.setup.own, "xdg/oarlock/config.toml": tt.setup.other, "conf.d/more.toml": tt.setup.conf} {
				must.Do(t, os.WriteFile(path, []byte(strings.Replace(pool, "%s", strings.Trim(filepath.Base(path), ".")[:1], 1)), 0o644))
				if how != nil {
					how(path)
				}
			}
			options := Options{Env: environment("XDG_CONFIG_HOME", "xdg"), Trust: tt.trust, NoPools: true}
			if tt.named {
				options.Path = "oarlock.toml"
			}
			c, err := Load(options)
			if tt.err != "" {
				var problems Problems
				if !errors.As(err, &problems) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Load() = %v, want %q", err, tt.err)
				}
				return
			}
			must.Do(t, err)
			want := strings.Replace(tt.files, "other", "xdg/oarlock/config.toml", 1)
			if got := strings.Join(c.Files, " "); got != want && !(want == "" && got == "/etc/oarlock/config.toml") {
				t.Errorf("used are %q, want %q", got, want)
			}
			doubts := strings.Join(c.Doubts, "\n")
			if (doubts == "") != (tt.doubt == "") || !strings.Contains(doubts, tt.doubt) {
				t.Errorf("doubts are %q, want %q", doubts, tt.doubt)
			}
		})
	}
}
