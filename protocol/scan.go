package protocol

import (
	"encoding/json"
	"unicode/utf8"
)

// scanner walks over JSON text without building anything. It never recurses, so
// that no nesting is too deep for it, and takes time in proportion to the text.
//
// It accepts exactly the grammar of RFC 8259, except that strings may hold bytes
// that are not UTF-8: a program that prints Latin-1 still gets its word across.
type scanner struct {
	text []byte
	pos  int
}

// Valid tells whether data is one JSON value with nothing but white space
// around it, which is what AppendJob needs.
func Valid(data []byte) bool {
	s := scanner{text: data}
	return s.value() && s.atEnd()
}

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there without taking it, 0 at the end.
func (s *scanner) next() byte {
	if s.pos < len(s.text) {
		if c := s.text[s.pos]; c > ' ' {
			return c
		}
	}
	return s.nextAfterSpace()
}

func (s *scanner) nextAfterSpace() byte {
	s.space()
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// take skips white space and takes c if it comes next.
func (s *scanner) take(c byte) bool {
	if s.next() != c || s.pos == len(s.text) {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.pos == len(s.text)
}

// value takes one value, however deeply nested.
func (s *scanner) value() bool {
	var open nesting
	for {
		if open.depth > len(s.text)-s.pos {
			return false // not enough is left to close what is open
		}
		// A value begins here.
		switch c := s.next(); c {
		case '{':
			s.pos++
			open.push(true)
			if s.next() != '}' {
				if !s.name() {
					return false
				}
				continue
			}
		case '[':
			s.pos++
			open.push(false)
			if s.next() != ']' {
				continue
			}
		default:
			if !s.scalar(c) {
				return false
			}
		}
		// A value ended here, or an empty one will; so may what holds it.
		for {
			if open.depth == 0 {
				return true
			}
			if s.take(',') { // never behind an opening bracket, for then a value was expected
				if open.object() && !s.name() {
					return false
				}
				break
			}
			closing := byte(']')
			if open.object() {
				closing = '}'
			}
			if !s.take(closing) {
				return false
			}
			open.pop()
		}
	}
}

// name takes the name of a member and its colon.
func (s *scanner) name() bool {
	return s.next() == '"' && s.string() && s.take(':')
}

func (s *scanner) scalar(first byte) bool {
	switch first {
	case '"':
		return s.string()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(word string) bool {
	if len(s.text)-s.pos < len(word) || string(s.text[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

// string takes a string; the opening quote is next.
func (s *scanner) string() bool {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i == len(s.text) {
				return false
			}
			switch s.text[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(s.text)-i <= 4 || !hex4(s.text[i+1:i+5]) {
					return false
				}
				i += 4
			default:
				return false
			}
		}
	}
	return false
}

func hex4(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func (s *scanner) number() bool {
	s.byteIn('-', '-')
	if !s.byteIn('0', '0') && !s.digits() {
		return false
	}
	if s.byteIn('.', '.') && !s.digits() {
		return false
	}
	if s.byteIn('e', 'e') || s.byteIn('E', 'E') {
		if !s.byteIn('+', '+') {
			s.byteIn('-', '-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	if !s.byteIn('0', '9') {
		return false
	}
	for s.byteIn('0', '9') {
	}
	return true
}

// byteIn takes the very next byte if it lies between low and high.
func (s *scanner) byteIn(low, high byte) bool {
	if s.pos == len(s.text) || s.text[s.pos] < low || s.text[s.pos] > high {
		return false
	}
	s.pos++
	return true
}

// nesting is a stack of bits: which of the open values are objects.
type nesting struct {
	depth int
	top   uint64   // the innermost levels, up to 64, the last one lowest
	rest  []uint64 // 64 outer ones each
}

func (n *nesting) push(object bool) {
	if n.depth > 0 && n.depth%64 == 0 {
		n.rest = append(n.rest, n.top)
	}
	n.depth++
	n.top <<= 1
	if object {
		n.top |= 1
	}
}

func (n *nesting) pop() {
	n.depth--
	n.top >>= 1
	if n.depth > 0 && n.depth%64 == 0 {
		n.top = n.rest[len(n.rest)-1]
		n.rest = n.rest[:len(n.rest)-1]
	}
}

func (n *nesting) object() bool { return n.top&1 == 1 }

// members calls visit for each member of the object that text is, in order, with
// the name decoded and the value as it stands. It returns false if text is not
// one whole object; visit may have been called by then.
func members(text []byte, visit func(name, value []byte)) bool {
	s := scanner{text: text}
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return s.atEnd()
	}
	for {
		if s.next() != '"' {
			return false
		}
		start := s.pos
		if !s.string() {
			return false
		}
		name := unquote(text[start:s.pos])
		if !s.take(':') {
			return false
		}
		s.space()
		start = s.pos
		if !s.value() {
			return false
		}
		visit(name, text[start:s.pos])
		if s.take(',') {
			continue
		}
		return s.take('}') && s.atEnd()
	}
}

// unquote decodes the valid JSON string quoted. The result shares its memory
// where nothing had to change.
func unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	plain := true
	for _, c := range inner {
		if c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return inner
	}
	var s string
	// The scanner has accepted the string, and Unmarshal replaces what is not UTF-8.
	if err := json.Unmarshal(quoted, &s); err != nil {
		return inner
	}
	return []byte(s)
}
