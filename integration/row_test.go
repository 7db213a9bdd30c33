package integration

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wholeMatrix says that everything is to run, as `make faults` asks; otherwise the
// fast set does, which is each row from one seed and at a smaller size.
var wholeMatrix = os.Getenv("OARLOCK_FAULTS") == "all"

// seeds are those that each row runs from: OARLOCK_SEED names a single one, or some as 1-20.
func seeds(t testing.TB) []uint64 {
	t.Helper()
	text := os.Getenv("OARLOCK_SEED")
	switch {
	case text == "" && wholeMatrix:
		text = "1-5"
	case text == "":
		text = "1"
	}
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		t.Fatalf("OARLOCK_SEED: %v", err)
	}
	last, err := strconv.ParseUint(to, 10, 64)
	if err != nil {
		t.Fatalf("OARLOCK_SEED: %v", err)
	}
	var all []uint64
	for seed := first; seed <= last; seed++ {
		all = append(all, seed)
	}
	return all
}

// scaled returns whole in the whole matrix, else fast.
func scaled(fast, whole int) int {
	if wholeMatrix {
		return whole
	}
	return fast
}

// row runs one row of FAULTS.md on a rig of its own, from each seed, beside other
// rows unless it is to be alone: most of a row is waiting for locks to run out. At the end of each it
// prints a line with the numbers that the row noted.
func row(t *testing.T, id string, o rigOptions, body func(t *testing.T, r *rig)) {
	if !o.alone {
		t.Parallel()
	}
	for _, seed := range seeds(t) {
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

// note keeps a number for the line of the row.
func (r *rig) note(name string, value any) {
	switch v := value.(type) {
	case float64:
		fmt.Fprintf(&r.numbers, "%s=%.2f ", name, v)
	default:
		fmt.Fprintf(&r.numbers, "%s=%v ", name, v)
	}
}

// numbers is what a row tells about itself.
type numbers = strings.Builder
