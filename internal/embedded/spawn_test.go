package embedded

import (
	"path/filepath"
	"testing"
	"time"

	"oarlock/internal/must"

	"github.com/redis/go-redis/v9"
)

func TestARestartedServerKeepsItsData(t *testing.T) {
	server := must.Get(Spawn(t.Context(), filepath.Join(t.TempDir(), "redis")))(t)
	defer server.Close()
	options := must.Get(redis.ParseURL(server.URL()))(t)
	client := redis.NewClient(options)
	defer client.Close()
	must.Do(t, client.Set(t.Context(), "key", "value", 0).Err())
	must.Do(t, server.Restart(t.Context()))
	// It takes connections before it has read its file.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if value, err := client.Get(t.Context(), "key").Result(); err == nil && value == "value" {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("key is %q, %v", value, err)
		}
	}
}
