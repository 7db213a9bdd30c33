package embedded

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestARestartedServerKeepsItsData(t *testing.T) {
	server, err := Spawn(t.Context(), filepath.Join(t.TempDir(), "redis"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	// It takes connections before it has read its file.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if value, err := client.Get(t.Context(), "key").Result(); err == nil && value == "value" {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("key is %q, %v", value, err)
		}
	}
}
