package glob

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMatchIsWhatAPatternSays compares it with a regular expression, over names and globs of few letters.
func TestMatchIsWhatAPatternSays(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string) string {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 20000 {
		pattern, name := word("ab*?*"), word("ab")
		want := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + "$").MatchString(name)
		if got := Match(pattern, name) || pattern == name; got != want {
			t.Fatalf("%q and %q: %v, want %v", pattern, name, got, want)
		}
	}
}

// TestMatchOfLongNames: however many * there are, a long name takes no longer than it is, and one that is too long matches none.
func TestMatchOfLongNames(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for range 1000 {
		if Match(strings.Repeat("*ab", 200)+"c", strings.Repeat("ab", 512)) {
			t.Fatal("it matches")
		}
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if Match("a*", strings.Repeat("a", Longest+1)) || !Match("a*", strings.Repeat("a", Longest)) {
		t.Error("the longest name that matches is another")
	}
	if long := strings.Repeat("a", 2000); !Match(long, long) {
		t.Error("a name does not match itself")
	}
}
