// Package callback makes the addresses at which somebody outside answers one job, and knows their tokens again. It owns the
// meaning of the file of secrets by which they are signed. It must not know Redis, HTTP servers, configuration or
// supervisors.
package callback

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Secrets sign tokens: the first makes them, and all are believed, so that one can follow another. The zero value makes none and
// believes none. They do not change; their methods may be called by several goroutines at once.
type Secrets struct{ all [][]byte }

// The bounds of a file of secrets, in bytes.
const (
	leastSecret = 32
	mostFile    = 64 << 10
)

// Read reads the secrets of a file, one a line, of at least 32 bytes each; empty lines and those that begin with # say
// nothing. The error is a sentence, and names the file.
func Read(path string) (Secrets, error) {
	file, err := os.Open(path)
	if err != nil {
		return Secrets{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	if err != nil {
		return Secrets{}, err
	}
	if len(text) > mostFile {
		return Secrets{}, fmt.Errorf("%s is longer than %d bytes", path, mostFile)
	}
	var s Secrets
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(line) < leastSecret {
			return Secrets{}, fmt.Errorf("%s, line %d: a secret has at least %d bytes; `openssl rand -hex 32` prints one", path, n, leastSecret)
		}
		s.all = append(s.all, []byte(line))
	}
	if len(s.all) == 0 {
		return Secrets{}, fmt.Errorf("%s holds no secret; `openssl rand -hex 32` prints one", path)
	}
	return s, nil
}

// Fingerprint tells secrets apart by the one that signs, and tells nothing of it; "" of none.
func (s Secrets) Fingerprint() string {
	if len(s.all) == 0 {
		return ""
	}
	return hex.EncodeToString(sign(s.all[0], "fingerprint", "")[:8])
}

// Same tells whether these are the same secrets, in the same order.
func (s Secrets) Same(others Secrets) bool {
	return slices.EqualFunc(s.all, others.all, bytes.Equal)
}

// Token is by which the job of that class and jid may be answered, and no other; "" where there is no secret.
func (s Secrets) Token(klass, jid string) string {
	if len(s.all) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(sign(s.all[0], klass, jid))
}

// Good reports whether a token is of the job of that class and jid.
func (s Secrets) Good(klass, jid, token string) bool {
	shown, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return false
	}
	good := false
	for _, secret := range s.all {
		good = hmac.Equal(shown, sign(secret, klass, jid)) || good
	}
	return good
}

// sign is the HMAC of a class and a jid, in a way in which no two pairs are alike.
func sign(secret []byte, klass, jid string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(fmt.Appendf(nil, "oarlock callback\n%d:%s%s", len(klass), klass, jid)) // never fails, by its documentation
	return mac.Sum(nil)
}

// Address is where the job of that class and jid is answered: it ends in "correlation=", to which whoever asks adds the
// correlation, percent-encoded. base is where the API is reached; "" where there is no secret.
func (s Secrets) Address(base, klass, jid string) string {
	if len(s.all) == 0 {
		return ""
	}
	at, named := url.PathEscape(klass), ""
	if klass == "." || klass == ".." { // which is no segment of a path
		at, named = "_", "klass="+klass+"&"
	}
	return strings.TrimSuffix(base, "/") + "/api/v1/respond/" + at + "/_?" + named + "jid=" + url.QueryEscape(jid) +
		"&token=" + s.Token(klass, jid) + "&correlation="
}
