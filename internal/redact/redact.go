// Package redact blanks secrets in text that is about to be shown. It errs on the side of
// blanking: what it returns is for people to read, never for programs to work with.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Blank stands in the place of a secret.
const Blank = "•••"

// Redactor blanks secrets. It is safe for concurrent use; a nil one leaves all as it is.
type Redactor struct {
	names []string       // in lower case
	paths []path         // the names among them
	named *regexp.Regexp // a key that ends in one of them, and what is assigned to it
	texts []*regexp.Regexp
}

// login is a password within a URL.
var login = regexp.MustCompile(`(://[^/\s:@"]*:)[^@\s/"]+@`)

// New makes a Redactor. A path of the form "$..NAME" means the values of keys that end in NAME,
// in whatever case, as JSON or as NAME=value in any text; others, as "$.card.number" or "$.users[*].id", mean values in
// documents only, for Data. texts are regular expressions for what is blanked besides.
func New(paths, texts []string) (*Redactor, error) {
	r := &Redactor{}
	var quoted []string
	for _, text := range paths {
		p := parsePath(text)
		if p == nil {
			return nil, fmt.Errorf("%q is not of the form $..NAME, $.NAME.NAME or $.NAME[*]", text)
		}
		r.paths = append(r.paths, p)
		if len(p) > 1 || !p[0].anyDeep {
			continue
		}
		name := strings.TrimPrefix(text, "$..")
		r.names = append(r.names, strings.ToLower(name))
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	if len(quoted) > 0 {
		// A value in quotes, perhaps itself within quotes; or all up to what ends a value.
		r.named = regexp.MustCompile(`(?i)((?:` + strings.Join(quoted, "|") + `)\\*["']?\s*[:=]\s*)` +
			`("(?:[^"\\]|\\.)*"?|'[^']*'?|\\+"[^"\\]*(?:\\+")?|(?:(?:Bearer|Basic|Token)\s+)?[^\s,;&}\]"']+)`)
	}
	for _, text := range texts {
		compiled, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		r.texts = append(r.texts, compiled)
	}
	return r, nil
}

// Line blanks what is secret in a line, and reports whether there was anything.
func (r *Redactor) Line(text string) (string, bool) {
	if r == nil {
		return text, false
	}
	out := r.document(text)
	out = login.ReplaceAllString(out, "${1}"+Blank+"@")
	if r.named != nil {
		out = r.named.ReplaceAllString(out, "${1}"+Blank)
	}
	for _, secret := range r.texts {
		out = secret.ReplaceAllLiteralString(out, Blank)
	}
	return out, out != text
}

// Lines is Line of each line of a text.
func (r *Redactor) Lines(text string) (string, bool) {
	var all strings.Builder
	did := false
	for line := range strings.Lines(text) {
		told, blanked := r.Line(strings.TrimSuffix(line, "\n"))
		all.WriteString(told)
		if strings.HasSuffix(line, "\n") {
			all.WriteByte('\n')
		}
		did = did || blanked
	}
	if !did {
		return text, false
	}
	return all.String(), true
}

// document blanks the members of a line that is a JSON document as a whole, whose keys may be
// written with escapes and whose values may be documents. One without any stays as it is.
func (r *Redactor) document(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(r.names) == 0 || trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return text
	}
	decoder := json.NewDecoder(strings.NewReader(trimmed))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() || !r.blank(value) {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return Blank
	}
	return strings.TrimSpace(out.String())
}

// blank blanks the members of value, and reports whether there were any.
func (r *Redactor) blank(value any) (found bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if r.secret(key) {
				value[key], found = Blank, true
			} else if r.blank(member) {
				found = true
			}
		}
	case []any:
		for _, member := range value {
			found = r.blank(member) || found
		}
	}
	return found
}

// secret reports whether a key ends in one of the names.
func (r *Redactor) secret(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(r.names, func(name string) bool { return strings.HasSuffix(key, name) })
}
