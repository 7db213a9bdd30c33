package service

import (
	"runtime/debug"
	"testing"

	"oarlock/supervisor"
)

func TestGarbageIsLimitedWhereThereAreManyChildren(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, tt := range []struct {
		environment string
		pools       []supervisor.Pool
		want        int
	}{
		{"", nil, 100},
		{"", []supervisor.Pool{{Children: 4}}, 100},
		{"", []supervisor.Pool{{Children: 30}, {MinChildren: 1, MaxChildren: 20}}, 70},
		{"", []supervisor.Pool{{Children: 30}, {Children: 10}}, 100}, // after a reload
		{"33", []supervisor.Pool{{Children: 1000}}, 100},             // by Go itself, at the start
	} {
		t.Setenv("GOGC", tt.environment)
		limitGarbage(tt.pools)
		got := debug.SetGCPercent(100)
		debug.SetGCPercent(got)
		if got != tt.want {
			t.Errorf("with %v and GOGC=%q it is %d %%, want %d", tt.pools, tt.environment, got, tt.want)
		}
	}
}
