package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// Every reason that why gives is followed by a code, of its own or for all that may be said there: a program that asks is not left
// with a sentence.
func TestEachReasonHasACode(t *testing.T) {
	text := must.Get(os.ReadFile("why.go"))(t)
	reasons, uncoded := 0, ""
	for _, line := range regexp.MustCompile(`(?m)^\t+(?:w\.because\(.*|w\.is\(.*|return)$|^}$`).FindAllString(string(text), -1) {
		switch word := strings.TrimSpace(line); {
		case strings.HasPrefix(word, "w.because("):
			reasons, uncoded = reasons+1, word
		case strings.HasPrefix(word, "w.is("):
			uncoded = ""
		case uncoded != "":
			t.Errorf("the reason %.80q has no code", uncoded)
			uncoded = ""
		}
	}
	if reasons < 40 {
		t.Errorf("%d reasons", reasons)
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
