package service

import (
	"runtime"
	"testing"
)

func TestLeaveCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, tt := range []struct {
		environment string
		cores, want int
	}{
		{"", 1, 1}, {"", 2, 1}, {"", 5, 2}, {"", 8, 4}, {"", 64, 4},
		{"6", 6, 6}, // by Go itself
	} {
		t.Setenv("GOMAXPROCS", tt.environment)
		runtime.GOMAXPROCS(tt.cores)
		LeaveCores()
		if got := runtime.GOMAXPROCS(0); got != tt.want {
			t.Errorf("of %d cores, with GOMAXPROCS=%q, %d are used; want %d", tt.cores, tt.environment, got, tt.want)
		}
	}
}
