package plan

import (
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

// Where nothing is said, an attempt has a day, as has the answer to a job that parks, and a job of whatever class is as any other.
func TestTheDefaultsOfAJob(t *testing.T) {
	pool := must.Get(Pool("p", config.DefaultPool()))(t)
	if timeout := pool.TimeoutOf("Unheard", pool.Timeout); timeout != 86400*time.Second {
		t.Errorf("an attempt has %v", timeout)
	}
	if class := config.DefaultKlass(); class.Retries != 5 || class.Priority != 0 || class.Weight != 1 || class.Timeout != 0 || class.OwnRetry {
		t.Errorf("a class of which nothing is said is %+v", class)
	}
	if set := (config.Config{Klass: map[string]config.Klass{"K": config.DefaultKlass()}}).RuleSet(); len(set.Klass) != 0 {
		t.Errorf("it is a rule: %+v", set.Klass)
	}
}
