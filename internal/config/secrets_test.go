package config

import (
	"os"
	"slices"
	"testing"

	"oarlock/internal/must"
)

// What was read for Redis is gone from the environment, and can be read again; what was read
// for a pool stays.
func TestSecretsLeaveTheEnvironment(t *testing.T) {
	for _, name := range []string{"OF_FILE", "OF_POOL", "REDIS_URL", "OARLOCK_REDIS_NAMESPACE"} {
		t.Setenv(name, "redis://"+name)
	}
	path := write(t, "c.toml", "[redis]\nurl = \"${OF_FILE}\"\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\nsandbox.env = { A = \"${OF_POOL}\", B = \"${REDIS_URL}\" }\n")
	for range 2 {
		c := must.Get(Load(Options{Path: path}))(t)
		if c.Redis.URL != "redis://REDIS_URL" || c.Redis.Namespace != "redis://OARLOCK_REDIS_NAMESPACE" || c.Pools["p"].Sandbox.Env["B"] != "redis://REDIS_URL" {
			t.Errorf("read %+v, %v", c.Redis, c.Pools["p"].Sandbox.Env)
		}
		for _, name := range []string{"OF_FILE", "OF_POOL", "REDIS_URL", "OARLOCK_REDIS_NAMESPACE"} {
			_, is := os.LookupEnv(name)
			if stays := name == "OF_POOL"; is != stays || IsSecret(name) == stays || !slices.Contains(Environ(), name+"=redis://"+name) {
				t.Errorf("%s is there: %t, secret: %t, for whom it is named: %q", name, is, IsSecret(name), Environ())
			}
		}
	}
}
