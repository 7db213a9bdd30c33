package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A path is a way into a document, in steps: "$.card.number", "$.users[*].token", "$..password".
type path []step

// step goes from a value to those within it.
type step struct {
	name    string // of a member; "" is any element of a list
	anyDeep bool   // "..": at whatever depth, and any key that ends in the name
}

// parsePath reads a path; nil if it is none.
func parsePath(text string) path {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil
	}
	var p path
	for rest != "" {
		if after, is := strings.CutPrefix(rest, "[*]"); is {
			p, rest = append(p, step{}), after
			continue
		}
		after, is := strings.CutPrefix(rest, ".")
		if !is {
			return nil
		}
		after, deep := strings.CutPrefix(after, ".")
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		if end == 0 {
			return nil
		}
		p, rest = append(p, step{name: strings.ToLower(after[:end]), anyDeep: deep}), after[end:]
	}
	return p
}

// reached is how far each path has come at a value: from where in the path it goes on.
type reached struct{ path, at int }

// into is how far the paths come by going on to a member, or, where isMember is false, to an element; secret says that one has come
// to its end.
func (r *Redactor) into(from []reached, key string, isMember bool) (to []reached, secret bool) {
	key = strings.ToLower(key)
	same := true
	for _, way := range from {
		s := r.paths[way.path][way.at]
		if s.anyDeep {
			to = append(to, way)
		}
		goesOn := s.anyDeep && isMember && strings.HasSuffix(key, s.name) || !s.anyDeep && isMember == (s.name != "") && key == s.name
		same = same && s.anyDeep && !goesOn
		if !goesOn {
			continue
		}
		if way.at++; way.at == len(r.paths[way.path]) {
			return nil, true
		}
		to = append(to, way)
	}
	if same {
		return from, false // and no memory for another
	}
	return to, false
}

// Data blanks in a JSON document the values at the paths, and in all other texts what Line blanks, and reports whether
// there was anything. It goes from value to value, so that a document of which the end is missing, or
// which stops being JSON, is blanked as far as it goes; what is not blanked stays as it is, byte for byte.
func (r *Redactor) Data(text []byte) ([]byte, bool) {
	if r == nil || len(r.paths) == 0 && len(r.texts) == 0 {
		return text, false
	}
	w := walk{r: r, text: text}
	var roots []reached
	for i := range r.paths {
		roots = append(roots, reached{i, 0})
	}
	w.document(roots)
	if !w.did {
		return text, false
	}
	w.out = append(w.out, text[w.kept:]...)
	return w.out, true
}

// walk goes through a document.
type walk struct {
	r    *Redactor
	text []byte
	at   int
	out  []byte
	kept int // up to where text is in out
	did  bool
}

// around is an object or a list that the walk is in.
type around struct {
	ways   []reached
	object bool
	hidden bool // the next value is secret
	next   []reached
	value  bool // a value comes next, and not a key
}

// document goes through all of it, without recursion: nobody says how deep it is.
func (w *walk) document(roots []reached) {
	stack := []around{{value: true, next: roots}}
	for w.at < len(w.text) {
		top := &stack[len(stack)-1]
		switch b := w.text[w.at]; b {
		case ' ', '\t', '\r', '\n', ':':
			w.at++
		case ',':
			w.at++
			top.value = !top.object
			if top.value && len(stack) > 1 {
				top.next, top.hidden = w.r.into(top.ways, "", false)
			}
		case '}', ']':
			w.at++
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case '{', '[':
			if top.hidden {
				w.hide(w.skip())
				top.hidden = false
				continue
			}
			w.at++
			inner := around{ways: top.next, object: b == '{'}
			if !inner.object {
				inner.value = true
				inner.next, inner.hidden = w.r.into(inner.ways, "", false)
			}
			stack = append(stack, inner)
		case '"':
			begin := w.at
			w.at = endOfString(w.text, w.at)
			if !top.value {
				top.next, top.hidden = w.r.into(top.ways, unquoted(w.text[begin:w.at]), true)
				top.value = true
				continue
			}
			w.text1(begin, top.hidden)
			top.hidden = false
		default:
			begin := w.at
			for w.at < len(w.text) && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]\""), rune(w.text[w.at])) {
				w.at++
			}
			if top.hidden || w.matches(w.text[begin:w.at]) {
				w.hide(begin)
			}
			top.hidden = false
		}
	}
}

// text1 looks at the text that ends here.
func (w *walk) text1(begin int, hidden bool) {
	if hidden {
		w.hide(begin)
		return
	}
	var all strings.Builder
	did := false
	for line := range strings.Lines(unquoted(w.text[begin:w.at])) {
		told, blanked := w.r.Line(line)
		all.WriteString(told)
		did = did || blanked
	}
	if did {
		w.replace(begin, all.String())
	}
}

// matches reports whether a number or a word is secret by itself.
func (w *walk) matches(text []byte) bool {
	for _, secret := range w.r.texts {
		if secret.Match(text) {
			return true
		}
	}
	return false
}

// hide blanks what is from begin to here.
func (w *walk) hide(begin int) { w.replace(begin, Blank) }

// replace puts a text in the place of what is from begin to here.
func (w *walk) replace(begin int, text string) {
	quoted, _ := json.Marshal(text) // of a string: cannot fail
	w.out = append(append(w.out, w.text[w.kept:begin]...), quoted...)
	w.kept, w.did = w.at, true
}

// skip passes an object or a list, and gives where it begins.
func (w *walk) skip() (begin int) {
	begin = w.at
	for depth := 0; w.at < len(w.text); {
		switch w.text[w.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			w.at = endOfString(w.text, w.at) - 1
		}
		w.at++
		if depth == 0 {
			return begin
		}
	}
	return begin
}

// endOfString is behind the text that begins at a quote; the end of all where it does not end.
func endOfString(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

// unquoted is what a text in quotes says; one that is cut, as far as it goes.
func unquoted(text []byte) string {
	var said string
	if json.Unmarshal(text, &said) == nil {
		return said
	}
	return string(bytes.Trim(text, `"`))
}
