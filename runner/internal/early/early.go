// Package early lets our own binary, started in a child's place to set what the child gets of its own, become the
// child's program before the rest of the binary is initialized, which takes several times as long as all the rest.
//
// The linker orders the initializations of packages by what they import, and then by name. So this one imports
// nothing but package syscall: it comes before package os, and before all that needs that. A test keeps it so.
//
// It does only what nearly all children want. Where it does not know how, or something fails, it has done nothing that
// cannot be done again: main runs, and package tree does it all, with a sentence about what failed.
package early

import "syscall"

// The entries of the environment that carry an order. They hold settings, never anything of a job, and are gone from
// the environment of the program.
const (
	Env  = "OARLOCK_EARLY" // the text of an Order; nobody else reads it
	Full = "OARLOCK_EXEC"  // what package tree goes by
)

// Subcommand is the first argument of a binary that is to become the program which the others name.
const Subcommand = "exec-child"

// Order says what a child gets. There is nothing in it that a child may not know.
type Order struct {
	Parent      int // whose death is to be the child's
	Files       int // descriptors that the child keeps: 0 up to, not including, this
	Proof       int // where to write a byte right before the program is begun, and another if that failed
	OOMScoreAdj int // 0: as it is
	NoNewPrivs  bool
	Limits      []Limit
	Dir         string // "": as it is
}

// Limit is a resource limit.
type Limit struct {
	Resource int
	syscall.Rlimit
}

// Text returns o as one line, its numbers with a blank behind each and the directory at the end.
func (o *Order) Text() string {
	var text []byte
	privs := 0
	if o.NoNewPrivs {
		privs = 1
	}
	for _, n := range []int{o.Parent, o.Files, o.Proof, o.OOMScoreAdj, privs, len(o.Limits)} {
		text = append(appendInt(text, n), ' ')
	}
	for _, l := range o.Limits {
		text = append(appendInt(text, l.Resource), ' ')
		text = append(appendUint(text, l.Cur), ' ')
		text = append(appendUint(text, l.Max), ' ')
	}
	return string(text) + o.Dir
}

// parse reads what Text wrote.
func (o *Order) parse(text string) {
	next := func() uint64 {
		var n uint64
		minus := false
		for i := range len(text) {
			switch c := text[i]; c {
			case ' ':
				text = text[i+1:]
				if minus {
					n = -n
				}
				return n
			case '-':
				minus = true
			default:
				n = 10*n + uint64(c-'0')
			}
		}
		return n
	}
	o.Parent, o.Files, o.Proof, o.OOMScoreAdj, o.NoNewPrivs = int(next()), int(next()), int(next()), int(next()), next() == 1
	for range next() {
		o.Limits = append(o.Limits, Limit{int(next()), syscall.Rlimit{Cur: next(), Max: next()}})
	}
	o.Dir = text
}

func appendInt(text []byte, n int) []byte {
	if n < 0 {
		return appendUint(append(text, '-'), uint64(-n))
	}
	return appendUint(text, uint64(n))
}

func appendUint(text []byte, n uint64) []byte {
	var digits [20]byte
	at := len(digits)
	for {
		at--
		digits[at] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return append(text, digits[at:]...)
		}
	}
}
