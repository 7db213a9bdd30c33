package script

import (
	"regexp"
	"strings"
	"testing"
)

// oneToken says what a token is.
var oneToken = regexp.MustCompile(`^(?:` +
	`--[^\n]*|` +
	`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` +
	`[A-Za-z_][A-Za-z_0-9]*|` +
	`\.[A-Za-z_][A-Za-z_0-9]*|\.+|` +
	`[0-9][0-9A-Za-z.]*|` +
	`[^-'"A-Za-z_0-9.]+|-)`)

// Scripts are taken apart as the expression says, ours and what is no Lua.
func TestTokens(t *testing.T) {
	texts := []string{"", "-", "a-b--c\n-d", "'a\\'b'", "'open", "'a\nb'", "'a\\\nb'", `"x\\"`, "a.b..c...d", "1e5..x", "0x1F_g", "..a", "é'ü'", "'\\", "\xff'\xfe'", ". .a"}
	for _, text := range luaDir("lib") {
		texts = append(texts, text[:min(len(text), 3000)])
	}
	for _, text := range texts {
		rest := text
		for token := range luaTokens(text) {
			want := oneToken.FindString(rest)
			if want == "" {
				want = rest[:1]
			}
			if token.text != want {
				t.Fatalf("%.60q begins with %q, want %q", rest, token.text, want)
			}
			rest = strings.TrimPrefix(rest, token.text)
		}
		if rest != "" {
			t.Errorf("%.60q is left of %.60q", rest, text)
		}
	}
}
