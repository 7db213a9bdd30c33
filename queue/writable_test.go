package queue_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// Writable finds out each way in which a Redis that answers takes no writes, and writes nothing.
func TestWritable(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	c, ctx := open(t, redistest.Start(t, "--dir", data, "--save", "3600 1", "--appendonly", "no")), t.Context()
	do := func(words ...any) error { return c.Redis().Do(ctx, words...).Err() }
	is := func(what string, want queue.ErrorClass) {
		t.Helper()
		if err := c.Writable(ctx); queue.Class(err) != want {
			t.Errorf("%s: %v (%v), want class %v", what, err, queue.Class(err), want)
		}
	}
	is("as it is", queue.Success)
	for _, tt := range []struct {
		what       string
		begin, end []any
		want       queue.ErrorClass
	}{
		{"a replica", []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, queue.ReadOnly},
		{"too few replicas", []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, queue.Disk},
		{"no memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, queue.Memory},
	} {
		if err := do(tt.begin...); err != nil {
			t.Fatal(err)
		}
		is(tt.what, tt.want)
		if err := do(tt.end...); err != nil {
			t.Fatal(err)
		}
		is("after "+tt.what, queue.Success)
	}
	if n, err := c.Redis().DBSize(ctx).Result(); err != nil || n != 0 {
		t.Errorf("%d keys were written, %v", n, err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := do("BGSAVE"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); queue.Class(c.Writable(ctx)) != queue.Disk; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			is("no disk", queue.Disk)
			break
		}
	}
	if err := do("ACL", "SETUSER", "default", "-zadd"); err == nil {
		_ = do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
		is("not allowed to ask", queue.Success)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	is("closed", queue.Unreachable)
}
