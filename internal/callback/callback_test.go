package callback

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// secretsOf are those of a file of that text.
func secretsOf(t *testing.T, text string) (Secrets, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return Read(path)
}

var one, two = strings.Repeat("1", 32), strings.Repeat("2", 32)

// A token is of one job of one class, by a secret that the file names yet.
func TestTokens(t *testing.T) {
	before := must.Get(secretsOf(t, one+"\n"))(t)
	token := before.Token("Pay", "a1")
	between := must.Get(secretsOf(t, "# the new one first\n\n"+two+"\r\n"+one))(t)
	after := must.Get(secretsOf(t, two))(t)
	for _, test := range []struct {
		name              string
		secrets           Secrets
		klass, jid, token string
		good              bool
	}{
		{"as it was made", before, "Pay", "a1", token, true},
		{"another job", before, "Pay", "a2", token, false},
		{"another class", before, "Buy", "a1", token, false},
		{"the same bytes, divided otherwise", before, "Pa", "ya1", token, false},
		{"one that has an end more", before, "Pay", "a1", token + "A", false},
		{"a last digit whose low bits say nothing", before, "Pay", "a1", token[:42] + string(token[42]+1), false},
		{"cut", before, "Pay", "a1", token[:20], false},
		{"empty", before, "Pay", "a1", "", false},
		{"rotated", between, "Pay", "a1", token, true},
		{"made anew", between, "Pay", "a1", between.Token("Pay", "a1"), true},
		{"made anew, for who has the new one only", after, "Pay", "a1", between.Token("Pay", "a1"), true},
		{"rotated out", after, "Pay", "a1", token, false},
		{"the fingerprint", before, "", "fingerprint", before.Fingerprint(), false},
		{"no secret", Secrets{}, "Pay", "a1", token, false},
		{"no secret and no token", Secrets{}, "Pay", "a1", "", false},
	} {
		if good := test.secrets.Good(test.klass, test.jid, test.token); good != test.good {
			t.Errorf("%s: %t", test.name, good)
		}
	}
	if before.Fingerprint() == after.Fingerprint() || between.Fingerprint() != after.Fingerprint() || len(before.Fingerprint()) != 16 {
		t.Errorf("fingerprints are %q, %q and %q", before.Fingerprint(), between.Fingerprint(), after.Fingerprint())
	}
}

// An address names class, jid and token, whatever they are made of, and takes any correlation at its end.
func TestAddress(t *testing.T) {
	s := must.Get(secretsOf(t, one))(t)
	for _, klass := range []string{"Pay", "a/b c", "..", ".", "%s", "é\n?&="} {
		for _, jid := range []string{"a1", "%20&token=x", "a/../b", "é\x00"} {
			u := must.Get(url.Parse(s.Address("https://jobs.example.com/oarlock/", klass, jid) + url.QueryEscape("order 17/&")))(t)
			query := u.Query()
			segment, _ := strings.CutSuffix(strings.TrimPrefix(u.EscapedPath(), "/oarlock/api/v1/respond/"), "/_")
			if name, err := url.PathUnescape(segment); err != nil || name != klass && query.Get("klass") != klass {
				t.Errorf("%q: the class is %q: %v", klass, segment, err)
			}
			if query.Get("jid") != jid || query.Get("correlation") != "order 17/&" || !s.Good(klass, jid, query.Get("token")) {
				t.Errorf("%q of %q: %v", jid, klass, u)
			}
		}
	}
	if address := (Secrets{}).Address("https://x", "Pay", "a1"); address != "" {
		t.Errorf("without a secret it is %q", address)
	}
}

// A file that will not do is refused by a sentence that names it.
func TestFilesThatWillNotDo(t *testing.T) {
	for text, says := range map[string]string{
		"": "holds no secret", "# " + one: "holds no secret", one + "\nshort\n": "line 2: a secret has at least 32 bytes", strings.Repeat("x\n", mostFile): "longer",
	} {
		if _, err := secretsOf(t, text); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("of none: %v", err)
	}
}
