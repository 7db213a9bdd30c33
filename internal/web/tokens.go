package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Tokens are who may come in by a secret, or, behind a proxy, by name: a file with a line each,
//
//	NAME RIGHTS SHA256
//
// RIGHTS being those of ParseRights, and SHA256 that of the token, in hexadecimal; "-" where a proxy vouches for the
// name, of which "*" is everybody else. It is read again when it has changed; while it is gone, there are none. Its methods may be called by several
// goroutines at once.
type Tokens struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex // for memory and a small file
	seen  os.FileInfo
	lines []tokenLine
	admit func(path string) error // nil: any file will do
}

// tokenLine is one line of the file.
type tokenLine struct {
	may Caller
	sum []byte // nil: a proxy vouches
}

// mostTokens is how long the file may be, in bytes.
const mostTokens = 1 << 20

// OpenTokens reads the file at path. Later trouble with it is told to log, and what it said before counts on. The error
// is a sentence.
func OpenTokens(path string, log *slog.Logger) (*Tokens, error) {
	t := &Tokens{path: path, log: log}
	err := t.read()
	if err == nil && len(t.lines) == 0 {
		err = fmt.Errorf("%s has no line, so that nobody could come in: `oarlock web token NAME --may read` prints one", path)
	}
	return t, err
}

// Admit has the file read again only if admit has nothing against it. It must be called before the Tokens are used.
func (t *Tokens) Admit(admit func(path string) error) { t.admit = admit }

// read reads the file. The caller holds mu, or is alone.
func (t *Tokens) read() error {
	file, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostTokens+1))
	if err == nil && len(text) > mostTokens {
		err = fmt.Errorf("is longer than %d bytes", mostTokens)
	}
	if err == nil && t.admit != nil {
		err = t.admit(t.path)
	}
	var lines []tokenLine
	if err == nil {
		lines, err = parseTokens(string(text))
	}
	t.seen = info // a file that is wrong is not read again before it changes
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.lines = lines
	return nil
}

// parseTokens reads the lines of a file.
func parseTokens(text string) (lines []tokenLine, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d: wanted are a name, rights and the SHA-256 of a token; `oarlock web token NAME --may read` prints them", n)
		}
		may, err := ParseRights(words[0], words[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		may.named = true
		var sum []byte
		if words[2] != "-" {
			if sum, err = hex.DecodeString(words[2]); err != nil || len(sum) != sha256.Size {
				return nil, fmt.Errorf("line %d: the third word is no SHA-256 in hexadecimal; the token itself does not belong here", n)
			}
			if [sha256.Size]byte(sum) == sha256.Sum256(nil) {
				return nil, fmt.Errorf("line %d: the third word is the SHA-256 of an empty token; take that of a real one", n)
			}
		}
		lines = append(lines, tokenLine{may, sum})
	}
	return lines, nil
}

// now are the lines as they are in the file now: none where there is no file.
func (t *Tokens) now() []tokenLine {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err == nil && t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() {
		return t.lines
	}
	told := err != nil && t.seen == nil
	if err == nil {
		err = t.read()
	} else {
		t.seen = nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if t.lines != nil {
			t.log.Warn("the file of tokens is gone: no token counts until there is one again", "path", t.path)
		}
		t.seen, t.lines = nil, nil
	} else if err != nil && !told {
		t.log.Warn("the file of tokens was not read again; what it said before counts", "err", err)
	}
	return t.lines
}

// PutOnly are the names of those who may put and answer no parked job. Until now a right to put was one to answer.
// It is for one version.
func (t *Tokens) PutOnly() []string {
	var names []string
	for _, line := range t.now() {
		if line.may.May(Put) && !line.may.May(Respond) {
			names = append(names, line.may.Name)
		}
	}
	return names
}

// byToken is who has a token; name, if not "", must be that one's.
func (t *Tokens) byToken(name, token string) (Caller, bool) {
	return t.bySum(name, sha256.Sum256([]byte(token)))
}

// bySum is who has the token with that hash. It takes as long for a wrong one.
func (t *Tokens) bySum(name string, sum [sha256.Size]byte) (Caller, bool) {
	var found Caller
	is := false
	for _, line := range t.now() {
		same := subtle.ConstantTimeCompare(sum[:], line.sum) == 1 && (name == "" || name == line.may.Name)
		if same {
			found, is = line.may, true
		}
	}
	return found, is
}

// byName is what somebody may for whom a proxy vouches.
func (t *Tokens) byName(name string) (Caller, bool) {
	var others *Caller
	for _, line := range t.now() {
		switch {
		case line.sum != nil:
		case line.may.Name == name:
			return line.may, true
		case line.may.Name == "*":
			others = &line.may
		}
	}
	if others == nil {
		return Caller{}, false
	}
	who := *others
	who.Name = name
	return who, true
}

// NewToken makes a token of 256 random bits, and the line of the file that goes with it. The error is about name or rights.
func NewToken(name, rights string) (token, line string, err error) {
	if name == "" || name == "*" || strings.HasPrefix(name, "#") || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == ':' }) {
		return "", "", errors.New("a name is a word without blanks and colons, and begins with no #")
	}
	if strings.ContainsFunc(rights, unicode.IsSpace) {
		return "", "", errors.New(`rights have no blanks between them: read,put:orders-*; a blank in the name of a queue is written as "?"`)
	}
	may, err := ParseRights(name, rights)
	if err != nil {
		return "", "", err
	}
	token = secret()
	sum := sha256.Sum256([]byte(token))
	return token, fmt.Sprintf("%s %s %x", name, may.Rights(), sum), nil
}

// secret is a text of 256 random bits.
func secret() string {
	var bits [32]byte
	rand.Read(bits[:]) // never fails, by its documentation
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// wrongs count who showed wrong tokens, by address, so that nobody can try many.
type wrongs struct {
	mu    sync.Mutex
	since time.Time      // when the minute began
	count map[string]int // of the minute, by address
}

// How many wrong tokens an address may show in a minute, and how many addresses are told apart.
const (
	mostWrong     = 10
	mostAddresses = 10_000
)

// add counts a wrong one, and reports whether it was one too many.
func (w *wrongs) add(address string, now time.Time) (tooMany bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil || now.Sub(w.since) >= time.Minute {
		w.since, w.count = now, map[string]int{}
	}
	if _, known := w.count[address]; !known && len(w.count) >= mostAddresses {
		address = "" // all others together
	}
	w.count[address]++
	return w.count[address] > mostWrong
}
