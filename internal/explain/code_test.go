package explain

import (
	"os"
	"regexp"
	"testing"
)

// Every reason that why gives is followed by its code: a program that asks is not left with a sentence.
func TestEachReasonHasACode(t *testing.T) {
	text, err := os.ReadFile("why.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^\t+w\.because\(`).FindAllIndex(text, -1)
	codes := regexp.MustCompile(`(?m)^\t+w\.is\(`).FindAllIndex(text, -1)
	if len(reasons) < 40 || len(codes) != len(reasons) {
		t.Fatalf("%d reasons, %d codes", len(reasons), len(codes))
	}
	for i := range reasons {
		if codes[i][0] < reasons[i][0] || i+1 < len(reasons) && codes[i][0] > reasons[i+1][0] {
			t.Errorf("the reason %.80q has no code of its own", text[reasons[i][0]:])
		}
	}
}
