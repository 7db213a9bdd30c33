package breaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A child that went bad is told from bad jobs: by its row, beside how jobs end as a rule.
func TestARowOfAChild(t *testing.T) {
	for _, tt := range []struct {
		name  string
		usual Usual
		well  bool // the child ended a job well before
		jobs  int  // that the row is about
		want  int  // how long it has to be; 0 if it never is
	}{
		{"nothing is known, and it never did well", Usual{}, false, 100, 0},
		{"others did well, but not since", Usual{well: 100, at: 1}, false, 100, 0},
		{"others do well", Usual{well: 100, at: time.Hour}, false, 100, 10},
		{"it did well", Usual{well: 100, at: 1}, true, 100, 10},
		{"it did well once", Usual{well: 1, at: 1}, true, 100, 13},
		{"half of the jobs are bad", Usual{well: 50, bad: 50, at: 1}, true, 100, 20},
		{"nine in ten are", Usual{well: 50, bad: 450, at: 1}, true, 200, 129},
		{"few jobs that come again", Usual{well: 100, at: 1}, true, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row, got := Row{well: tt.well}, 0
			for n := 1; n <= 1000 && got == 0; n++ {
				if row.Bad(fmt.Sprint(n%tt.jobs), &tt.usual, time.Minute) {
					got = n
				}
			}
			if got != tt.want {
				t.Errorf("to blame after %d, want %d", got, tt.want)
			}
		})
	}
}

// Where many jobs are bad, at random, hardly a child is blamed.
func TestBadJobsBlameNoChild(t *testing.T) {
	for _, share := range []float64{0.1, 0.5, 0.9} {
		random := rand.New(rand.NewPCG(1, 2))
		var usual Usual
		rows, blamed := [4]Row{}, 0
		for n := range 100_000 {
			row := &rows[n%len(rows)]
			switch {
			case random.Float64() >= share:
				row.Ended(&usual, time.Duration(n+1))
			case row.Bad(fmt.Sprint(n), &usual, time.Duration(n+1)):
				blamed++
				*row = Row{}
			}
		}
		if blamed > 2 {
			t.Errorf("where %v of the jobs are bad, %d children of 4 are blamed in 100,000 jobs", share, blamed)
		}
	}
}
