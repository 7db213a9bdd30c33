package queue

import (
	"flag"
	"iter"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Tests at random play a tenth of their length in the gate, and begin with seed 0 there; the long run begins anywhere, and says where.
// OARLOCK_SEED is the seed that either begins with.

// Tenth is n, or a tenth of it in the gate, and at least one.
func Tenth(n int) int {
	if testing.Short() {
		n = max(1, n/10)
	}
	return n
}

// Seeds are those of n programs, or of a tenth of them in the gate.
func Seeds(t testing.TB, n int) iter.Seq[uint64] {
	t.Helper()
	first := firstSeed()
	t.Logf("seeds from OARLOCK_SEED=%d", first)
	return func(yield func(uint64) bool) {
		for i := range uint64(Tenth(n)) {
			if !yield(first + i) {
				return
			}
		}
	}
}

var firstSeed = sync.OnceValue(func() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("OARLOCK_SEED"), 10, 64)
	if err != nil && !testing.Short() {
		seed = uint64(time.Now().Unix() % 100_000)
	}
	return seed
})

// checkAtRandom checks a property of 100 random histories, or of a tenth of them in the gate.
func checkAtRandom(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rapidFlags()
	t.Logf("seed OARLOCK_SEED=%d", firstSeed())
	rapid.Check(t, property)
}

var rapidFlags = sync.OnceFunc(func() {
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		flag.Set("rapid.seed", strconv.FormatUint(firstSeed()+1, 10)) // 0 is any
	}
	if testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
		flag.Set("rapid.checks", "50") // of which it plays a fifth then
	}
})

// oneOfMistakes ends the test of the ith of some mistakes in the gate, but for the first.
func oneOfMistakes(t testing.TB, i int) {
	if i > 0 {
		Long(t, "the gate makes one such mistake")
	}
}

// Long ends a test that the gate has no time for.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: " + why)
	}
}
