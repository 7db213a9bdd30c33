package lookout

import (
	"strings"
	"testing"
)

func TestGlobsKeepTheirPlace(t *testing.T) {
	got := Expand([]string{"last-*", "b", "*"}, []string{"a", "b", "last-1", "last-2"})
	if want := "last-1 last-2 b a"; strings.Join(got, " ") != want {
		t.Errorf("Expand() = %v, want %s", got, want)
	}
}
