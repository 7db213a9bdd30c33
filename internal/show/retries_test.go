package show

import "testing"

// What a list says of retries is a number of them, or that there is none.
func TestRetriesLeft(t *testing.T) {
	for remaining, want := range map[int]string{5: "5/5", 0: "0/5", -1: "none left"} {
		if got := retriesLeft(remaining, 5); got != want {
			t.Errorf("%d of 5: it says %q", remaining, got)
		}
	}
}
