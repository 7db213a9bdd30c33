package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// databases is how many databases a shared server has: more than a test process has tests and subtests.
const databases = 4096

var (
	// shared starts the one server of the process. The server ends with the process, however that ends.
	shared = sync.OnceValues(startShared)
	// lastDatabase is the number of the last database given away; 0 is never given, so that a test that
	// forgets its database finds nothing there.
	lastDatabase atomic.Int64
)

// Shared returns an empty database of its own on a redis-server that all tests of the process share. It is the
// cheap choice. Pub/sub channels, scripts, INFO, CONFIG and FLUSHALL concern the whole server: a test that needs
// one of them, or that stops the server, takes Start.
//
// URL names the database, and so does Client. Addr is the socket alone. Kill, Stop, Restart, Pause and Resume
// fail the test. Without a redis-server on the machine it does what Start does.
func Shared(t testing.TB) *Server {
	t.Helper()
	require(t)
	addr, err := shared()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	n := lastDatabase.Add(1)
	if n >= databases {
		t.Fatalf("redistest: more than %d databases in one test process", databases)
	}
	s := &Server{t: t, shared: true, db: int(n), Addr: addr, URL: "unix://" + addr + "?db=" + strconv.FormatInt(n, 10)}
	t.Cleanup(func() {
		c := redis.NewClient(s.options())
		defer c.Close()
		c.FlushDB(context.Background()) // what this test leaves is not to slow the next
	})
	return s
}

// startShared starts a server below a shell that ends it when the pipe to this process closes.
func startShared() (addr string, err error) {
	dir, err := os.MkdirTemp("", "oar")
	if err != nil {
		return "", err
	}
	addr = filepath.Join(dir, "r.sock")
	const untilWeEnd = `"$@" >"$0/log" 2>&1 & server=$!; read -r none; kill -9 $server; wait $server 2>/dev/null; rm -rf "$0"`
	cmd := exec.Command("sh", append([]string{"-c", untilWeEnd, dir}, arguments(addr, dir, "--databases", strconv.Itoa(databases))...)...)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	keepOpen = alive
	if err := await(addr, nil); err != nil {
		words, _ := os.ReadFile(filepath.Join(dir, "log"))
		return "", fmt.Errorf("%w\n%s", err, words)
	}
	return addr, nil
}

// keepOpen is the writing end of the shared server's pipe; the kernel closes it when the process ends.
//
//lint:ignore U1000 to hold it is its use
var keepOpen any
