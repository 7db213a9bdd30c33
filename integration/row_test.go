package integration

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// long skips a test that belongs to the long run: that is every test, without -short.
func long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: " + why)
	}
}

// scaled returns the size of a test: whole in the long run, fast in the gate.
func scaled(fast, whole int) int {
	if testing.Short() {
		return fast
	}
	return whole
}

// seeds are those that each row runs from. OARLOCK_SEED names one, or several as 1-20. Otherwise the gate runs seed 1,
// and the long run a fresh one.
var seeds = sync.OnceValues(func() (all []uint64, err error) {
	text := os.Getenv("OARLOCK_SEED")
	switch {
	case text == "" && testing.Short():
		return []uint64{1}, nil
	case text == "":
		return []uint64{rand.Uint64N(1e9)}, nil
	}
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	last, failed := strconv.ParseUint(to, 10, 64)
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("OARLOCK_SEED: %w", err)
	}
	for seed := first; seed <= last; seed++ {
		all = append(all, seed)
	}
	return all, nil
})

// soakLength is how long each of the three soaks takes, which run one after another: a third of OARLOCK_LENGTH, 10 minutes by default.
func soakLength(t testing.TB) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("OARLOCK_LENGTH"), "10m"))
	if err != nil {
		t.Fatalf("OARLOCK_LENGTH: %v", err)
	}
	return length / 3
}

// row runs one row of FAULTS.md on a rig of its own, from each seed, beside other
// rows unless it is to be alone: most of a row is waiting for locks to run out. At the end of each it
// prints a line with the numbers that the row noted.
func row(t *testing.T, id string, o rigOptions, body func(t *testing.T, r *rig)) {
	if o.root && os.Geteuid() != 0 {
		notHere(id, errors.New("it takes several users, and so root"))
		return
	}
	if o.disk != "" {
		if _, err := tmpfs(t, o.disk); err != nil {
			notHere(id, err)
			return
		}
	}
	if !o.alone {
		t.Parallel()
	}
	all := got(seeds())(t)
	for _, seed := range all {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := newRig(t, seed, o)
			started := time.Now()
			defer func() {
				result := "ok"
				if t.Failed() {
					result = "FAILED"
				}
				fmt.Printf("row %s seed %d %s %s(%.1f s)\n", id, seed, result, r.numbers.String(), time.Since(started).Seconds())
			}()
			body(t, r)
		})
	}
}

// note keeps numbers for the line of the row: a name, a value, and so on.
func (r *rig) note(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		format := "%v=%v "
		if _, is := pairs[i+1].(float64); is {
			format = "%v=%.2f "
		}
		fmt.Fprintf(&r.numbers, format, pairs[i], pairs[i+1])
	}
}

// numbers is what a row tells about itself.
type numbers = strings.Builder
