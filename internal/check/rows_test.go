package main

import (
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rs := make(rows)
	for line := range strings.SplitSeq(`row soak seed 1 ok jobs=5000 (7.2 s)
row A10 seed 1 ok exit_after=0.14 (0.6 s)
row A2 seed 1 ok back_after=3.36 way=a jobs=200 (3.9 s)
row A2 seed 2 FAILED back_after=9 way=b jobs=200 (8.0 s)
row G7 not shown on this machine: no terminals
rows of something else
    row_test.go:5: row A9 is no such line`, "\n") {
		rs.add(line)
	}
	var out strings.Builder
	rs.print(&out)
	want := `ROW   PASSED         SECONDS  SHOWED
A2    1 of 2 FAILED  3.9…8    back_after=3.36…9 way=a|b jobs=200
A10   1 of 1         0.6      exit_after=0.14
G7    -              -        not on this machine: no terminals
soak  1 of 1         7.2      jobs=5000
`
	if out.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", out.String(), want)
	}
}
