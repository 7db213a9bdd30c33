package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// A deploy host by host: the program of one supervisor knows the class Old, that of the other Old and New. Jobs of New are soon done, beside
// jobs of Old or alone, and the old host is seldom asked about them.
func TestAClassOfNewCodeBesideAnOldHost(t *testing.T) {
	long(t, "it starts hundreds of processes")
	for _, children := range [][2]int{{20, 2}, {2, 20}} {
		t.Run(fmt.Sprintf("%d and %d children", children[0], children[1]), func(t *testing.T) {
			w := newRuledWorld(t)
			pool := func(knows string, children int) string {
				return fmt.Sprintf(`
[pools.work]
queues = ["q"]
mode = "once"
children = %d
input = "none"
command = ["sh", "-c", 'case "$1" in %s) sleep 0.02;; *) echo >>refused; exit 69;; esac', "-"]
args = ["{klass}"]
exit_codes = { 69 = "unknown" }
`, children, knows)
			}
			w.write(pool("Old", children[0]))
			second := filepath.Join(w.dir, "second.toml")
			text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\nname = \"web2\"\n%s", w.url, filepath.Join(w.dir, "state2"), pool("Old|New", children[1]))
			must(t, os.WriteFile(second, []byte(text), 0o600))
			var other *exec.Cmd = begin(t, second)
			w.run()
			put := func(klass string) string {
				return w.put(queue.Put{Queue: "q", Klass: klass, Data: []byte("{}"), Retries: new(int)})
			}
			until(t, "both are there", func() bool {
				return w.db.PubSubNumSub(t.Context(), "ql:oarlock:ask").Val()["ql:oarlock:ask"] == 2
			})
			for _, beside := range []int{0, 5} {
				began := time.Now()
				var all []string
				for range 60 {
					for range beside {
						all = append(all, put("Old"))
					}
					all = append(all, put("New"))
				}
				for _, jid := range all {
					until(t, "each is done", func() bool { return w.field(jid, "state") == "complete" })
				}
				refused, _ := os.ReadFile(filepath.Join(w.dir, "refused"))
				n := strings.Count(string(refused), "\n")
				t.Logf("beside %d of Old: done after %v, %d times refused", 60*beside, time.Since(began), n)
				if n > 180 {
					t.Errorf("60 jobs were refused %d times", n)
				}
				os.Remove(filepath.Join(w.dir, "refused"))
			}
			other.Process.Signal(os.Interrupt)
		})
	}
}
