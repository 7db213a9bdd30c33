package integration

import (
	"fmt"
	"regexp"
	"testing"
)

var featureLine = regexp.MustCompile(`^\| ([A-Z]\d+) \|`)

// TestDocumentOfFeatures holds FEATURES.md to the code: each row names tests that exist, and stands there once.
func TestDocumentOfFeatures(t *testing.T) {
	tests := testFunctions(t)
	rows := map[string]bool{}
	for _, line := range lines(t, "FEATURES.md") {
		id := featureLine.FindStringSubmatch(line)
		if id == nil {
			continue
		}
		if rows[id[1]] {
			t.Errorf("row %s is there twice", id[1])
		}
		rows[id[1]] = true
		checkEvidence(t, "row "+id[1], line, tests)
	}
	for prefix, last := range map[string]int{"H": 27, "Q": 93, "L": 63, "P": 37, "W": 19} {
		for n := 1; n <= last; n++ {
			if !rows[fmt.Sprint(prefix, n)] {
				t.Errorf("row %s%d is missing", prefix, n)
			}
		}
	}
}
