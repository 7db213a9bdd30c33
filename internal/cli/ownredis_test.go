package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"
)

// What is put beside dev goes to its Redis, as long as it lives, and nowhere else.
func TestPutFindsTheRedisOfDev(t *testing.T) {
	for _, args := range [][]string{{"dev"}, {"run"}} {
		t.Run(args[0], func(t *testing.T) {
			files := workFiles
			if args[0] == "run" {
				files = strings.Replace(files, "[pools.work]", "[redis]\nurl = 'embedded'\n[pools.work]", 1)
			}
			s := newScript(t, files)
			s.env["REDIS_URL"] = "" // not deleted: what a process has read of it once, it keeps
			p := begin(t, s, args...)
			p.await(`INFO .*ready`)
			p.ask("put", "elsewhere", "--jid", "found")
			s.says(t, exitOK, "queue ls", "elsewhere")
			s.says(t, exitOK, "status --json", `"own_redis"`)
			// Another configuration, even with the same pools, is not beside it.
			text := s.text("oarlock.toml")
			if args[0] == "dev" {
				text = "redis.url = 'embedded'\n" + text
			}
			must.Do(t, os.WriteFile(filepath.Join(s.dir, "other.toml"), []byte(text), 0o644))
			s.says(t, exitUsage, "-c other.toml put elsewhere")
			// From elsewhere, and by a link, it is the same file.
			link := filepath.Join(t.TempDir(), "link.toml")
			must.Do(t, os.Symlink(filepath.Join(s.dir, "oarlock.toml"), link))
			if text := p.ask("-c", link, "job", "show", "found"); !strings.Contains(text, "elsewhere") {
				t.Errorf("by a link: %s", text)
			}
			// One that was killed is gone, with what it left.
			p.signal(syscall.SIGKILL)
			for range p.lines {
			}
			p.cmd.Wait()
			if left, _ := filepath.Glob(s.dir + "/state/oarlock/control-*.sock"); len(left) != 1 {
				t.Errorf("the killed one has left %v", left)
			}
			// Named, or it would be looked for where any Redis may be.
			s.says(t, exitUsage, "--redis embedded put elsewhere", "none runs with this configuration")
		})
	}
}

// A Redis that was named is meant, and dev says that it is left alone.
func TestDevBesideANamedRedis(t *testing.T) {
	s := newScript(t, workFiles)
	p := begin(t, s, "dev")
	p.await(`is left alone; other commands go there`)
	url := p.await(`export REDIS_URL=`)
	p.await(`INFO .*ready`)
	p.ask("put", "elsewhere", "--jid", "named")
	if err := s.oarlock(exitGone, []string{"--redis", url[strings.Index(url, "redis://"):], "job", "show", "named"}); err != nil {
		t.Error(err, s.said["stdout"], s.said["stderr"])
	}
	p.ask("job", "show", "named")
	p.ask("stop")
	p.leaves(exitOK)
}
