package web

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// While there is no file no token counts, nor its session. A file that is replaced by renaming takes none away.
func TestTokensFileIsGone(t *testing.T) {
	token, line, err := NewToken("anna", "read")
	must.Do(t, err)
	gate := withTokens(t, line)
	path := gate.Tokens.path
	session := gate.sessions.open(sha256.Sum256([]byte(token)))
	want := func(what string, want bool) {
		t.Helper()
		for range 2 {
			_, byToken := gate.knows("", token, ByBearer)
			_, bySession := gate.knows("", session, ByCookie)
			if byToken != want || bySession != want {
				t.Errorf("%s: the token counts: %v, its session: %v, want %v", what, byToken, bySession, want)
			}
		}
	}
	want("at first", true)
	must.Do(t, os.WriteFile(path+".new", []byte(line), 0o600))
	must.Do(t, os.Rename(path+".new", path))
	want("after it was replaced", true)
	must.Do(t, os.Rename(path, path+".off"))
	want("while it is gone", false)
	must.Do(t, os.Rename(path+".off", path))
	want("when it is back", true)
}

// A file that others may write by now is not read again.
func TestTokensFileIsRefused(t *testing.T) {
	token, line, err := NewToken("anna", "read")
	must.Do(t, err)
	other, second, err := NewToken("bert", "write")
	must.Do(t, err)
	tokens := tokensOf(t, line)
	refused := errors.New("others may write it")
	tokens.Admit(func(string) error { return refused })
	must.Do(t, os.WriteFile(tokens.path, []byte(line+"\n"+second), 0o600))
	if _, is := tokens.byToken("", other); is {
		t.Error("it was read")
	}
	if _, is := tokens.byToken("", token); !is {
		t.Error("what it said before does not count")
	}
	refused = nil
	must.Do(t, os.WriteFile(tokens.path, []byte(line+"\n\n"+second), 0o600))
	if _, is := tokens.byToken("", other); !is {
		t.Error("it was not read")
	}
}

// Nobody has an empty token: a line with its sum, as an unset variable of a script makes it, is refused, and lets nobody in.
func TestAnEmptyTokenLetsNobodyIn(t *testing.T) {
	nothing := fmt.Sprintf("%x", sha256.Sum256(nil))
	if _, err := parseTokens("anna write " + nothing); err == nil || !strings.Contains(err.Error(), "line 1: the third word is the SHA-256 of an empty token") {
		t.Errorf("the line: %v", err)
	}
	_, line, err := NewToken("anna", "write")
	must.Do(t, err)
	tokens := tokensOf(t, line)
	tokens.lines[0].sum = make([]byte, sha256.Size)
	empty := sha256.Sum256(nil)
	copy(tokens.lines[0].sum, empty[:])
	g := &Gate{Tokens: tokens}
	for _, header := range []string{"Bearer ", "bearer", "Basic Og==", "Basic " + base64.StdEncoding.EncodeToString([]byte("anna:"))} {
		r := httptest.NewRequest("GET", "/api/v1/queues", nil)
		r.Header.Set("Authorization", header)
		if who, _, err := g.Who(r); err == nil {
			t.Errorf("%q is let in as %+v", header, who)
		}
	}
}
