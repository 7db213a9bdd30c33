package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/queue"
)

// With the rights that the unit of a configuration grants, and no other, a supervisor that is
// not root runs children as another user: their private directories are made and removed,
// they are killed with all that they started, and none of the rights reaches them.
func rightsOfAUnit(kill, away string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		config := strings.Replace(r.config(t, "a", pool{mode: "once", command: []string{"/bin/sh", "-c", rightsScript}, children: 2}), "[pools.work.sandbox]",
			fmt.Sprintf("[pools.work.sandbox]\nuser = \"%d\"\ngroup = \"%[1]d\"\nnice = -5\nkill = %q\n", bomber, kill), 1)
		config = strings.Replace(config, "env = { ", fmt.Sprintf("env = { AWAY = %q, ", away), 1)
		path := filepath.Join(r.dir, "for-the-unit.toml")
		must(t, os.WriteFile(path, []byte(config), 0o644))
		unit := got(exec.Command(oarlock(t), "unit", "-c", path, "--user", fmt.Sprint(stranger)).Output())(t)
		ambient := regexp.MustCompile(`(?m)^AmbientCapabilities=(.*)$`).FindSubmatch(unit)
		if ambient == nil {
			t.Fatalf("no capabilities are in\n%s", unit)
		}
		rights := "+" + strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(string(ambient[1]), "CAP_", ""), " ", ",+"))
		r.asUser(t, stranger, "--inh-caps -all,"+rights+" --ambient-caps -all,"+rights+" --bounding-set -all,"+rights)
		must(t, os.Chmod(r.stateDir("a"), 0o711)) // as the unit says, too
		a := r.startConfig(t, "a", config)

		r.putOne(t, work{}, retries(0))
		slow := r.putOne(t, work{}, func(p *queue.Put) { p.Data = []byte(`"slow"`) })
		a.said(t, "began slow")
		ran(t, exec.Command(oarlock(t), "job", "cancel", slow, "--redis", r.url))
		a.said(t, "uid 54322 gid 54322 groups 54322 nice -5 caps 0000000000000000 0000000000000000 0000000000000000")
		await(t, func() error {
			if left := marked(strings.Replace(r.mark, "RIG_UNDER_TEST", "RIGHTS_SLOW", 1)); len(left) > 0 {
				return fmt.Errorf("%v are alive", left)
			}
			return nil
		})
		a.stop(t)
		left, err := filepath.Glob(filepath.Join(r.stateDir("a"), "private", "*", "*"))
		for _, path := range left {
			if filepath.Base(path) != "lock" && filepath.Base(filepath.Dir(path)) != "kept" {
				t.Errorf("%s is left", path)
			}
		}
		if err != nil || a.saying(`cannot be removed`) > 0 {
			t.Errorf("%v: private directories cannot be removed", err)
		}
	}
}

const rightsScript = `
mkdir "$OARLOCK_DIR/deep" && touch "$OARLOCK_DIR/deep/file" && chmod 0 "$OARLOCK_DIR/deep"
case $(cat) in
*slow*) export RIGHTS_SLOW="$RIG_UNDER_TEST"; $AWAY sleep 600 & echo began slow; exec sleep 600 ;;
esac
nice=$(awk '{print $19}' /proc/self/stat)
echo "uid $(id -u) gid $(id -g) groups $(id -G) nice $nice caps $(awk '/^Cap(Prm|Eff|Amb)/ {printf "%s%s", sep, $2; sep = " "}' /proc/self/status)"
`
