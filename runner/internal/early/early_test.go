package early

import (
	"reflect"
	"syscall"
	"testing"
)

func TestTextIsReadAsItWasWritten(t *testing.T) {
	for _, o := range []Order{
		{Parent: 1, Files: 4, Proof: 4},
		{Parent: 4194304, Files: 3, Proof: 3, OOMScoreAdj: -1000, NoNewPrivs: true, Dir: "/a b/\n7 8 "},
		{Parent: 12, Files: 5, Proof: 5, OOMScoreAdj: 300, Dir: "1 2", Limits: []Limit{
			{syscall.RLIMIT_NOFILE, syscall.Rlimit{Cur: 1024, Max: 1024}}, {syscall.RLIMIT_CORE, syscall.Rlimit{}},
			{syscall.RLIMIT_FSIZE, syscall.Rlimit{Cur: 1<<64 - 1, Max: 1<<64 - 1}},
		}},
	} {
		var read Order
		if read.parse(o.Text()); !reflect.DeepEqual(read, o) {
			t.Errorf("%q was read as %+v, not %+v", o.Text(), read, o)
		}
	}
}
