package web

import (
	"testing"

	"oarlock/supervisor"
)

// What a pool leaves out is a queue with a damaged key; where it takes nothing at all, that is said.
func TestWordsOfWhatAPoolLeavesOut(t *testing.T) {
	for says, pool := range map[string]supervisor.PoolSnapshot{
		"It leaves out mail: ql:q:mail-work is a string": {Name: "mail", Damaged: []string{"mail: ql:q:mail-work is a string"}},
		"It takes nothing: the key space needs shards":   {Name: "mail", Abstains: "the key space needs shards", Breaker: "why"},
	} {
		if text := poolTrouble(pool); text != says {
			t.Errorf("%q", text)
		}
	}
}
