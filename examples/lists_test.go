package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// TestLists pushes by redis-cli and from Python, as the page says, to lists that a shell script works.
func TestLists(t *testing.T) {
	program := must.Get(binary())(t)
	port := redistest.Port(t)
	server := redistest.Start(t, "--bind", "127.0.0.1", "--port", port)
	filed := filepath.Join(t.TempDir(), "filed.txt")
	env := append(os.Environ(), "REDIS_PORT="+port, "FILED="+filed)
	supervise(t, program, "lists", env, "--redis", server.URL, "--state-dir", t.TempDir())
	const letter = `{"to":"Zoë's \"cat\" $(id) \\n", "n":9007199254740993, "none":[]}`
	for _, command := range [][]string{
		{"sh", "push.sh", letter}, {"sh", "push.sh", "a plain text"},
		{"sh", "push.sh", `{"klass": "Order", "data": {"customer": 17}, "tags": ["vip"]}`, "new-orders"}, {"python3", "hworker.py", "mail", `{"n":1}`},
	} {
		must.Have(t, command[0])
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Env = "lists", env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	awaitLines(t, filed, `"a plain text"`, letter, `{"n": 1}`, `{"customer": 17}`)
}
