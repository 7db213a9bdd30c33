package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// Every reason that why gives is followed by its code: a program that asks is not left with a sentence.
func TestEachReasonHasACode(t *testing.T) {
	text := must.Get(os.ReadFile("why.go"))(t)
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

// A code that no reason has would be waited for in vain.
func TestEachCodeIsGiven(t *testing.T) {
	var all []byte
	files := must.Get(filepath.Glob("*.go"))(t)
	for _, name := range files {
		if name == "code.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		all = append(all, text...)
	}
	text := must.Get(os.ReadFile("code.go"))(t)
	codes := regexp.MustCompile(`(?m)^\t(\w+) +Code = `).FindAllSubmatch(text, -1)
	if len(codes) < 40 {
		t.Fatalf("%d codes", len(codes))
	}
	for _, code := range codes {
		if name := string(code[1]); name != "Other" && !strings.Contains(string(all), "w.is("+name+")") {
			t.Errorf("no reason is given the code %s", name)
		}
	}
}
