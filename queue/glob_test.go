package queue_test

import (
	"testing"

	"oarlock/queue"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"mail", "mail", true},
		{"mail", "mails", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"mail*", "mail/eu", true},
		{"mail-*", "mail-", true},
		{"mail-*", "mail-a/b*", true},
		{"mail-*", "xmail-a", false},
		{"*-out", "a-out-out", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", true},
		{"a?c", "ac", false},
		{"[a]", "[a]", true},
		{"[a]", "a", false},
		{"[ab", "[ab", true},
		{`a\*`, `a\b`, true},
		{`a\*`, "a*", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"*", "\xff\xfe", true},
		{"mail-*", "mail-\xff", true},
		{"mail-?", "mail-\xff", true},
		{"mail-\xff", "mail-\xff", true},
		{"mail-\xff", "mail-\xfe", false},
		{"mail-\ufffd", "mail-\xff", false},
	}
	for _, tt := range tests {
		if got := queue.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
	if !queue.MatchAny([]string{"a", "b*"}, "b/c") || queue.MatchAny([]string{"a", "b"}, "b/c") || queue.MatchAny(nil, "") {
		t.Error("MatchAny is not any of Match")
	}
	if queue.IsGlob(`[a]\`) || !queue.IsGlob("a?") || !queue.IsGlob("*") {
		t.Error("a glob is what has * or ? in it")
	}
}

// Names are bytes, and come out of Redis as they went in.
func TestNamesNeedNotBeUTF8(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		name := "mail-\xff\xfe"
		if _, err := c.Put(t.Context(), queue.Put{Queue: name, Klass: "K"}); err != nil {
			t.Fatal(err)
		}
		equal(t, "names", must(c.QueueNames(t.Context()))(t), []string{name})
		equal(t, "counts", must(c.Queues(t.Context()))(t)[0].Name, name)
	})
}
