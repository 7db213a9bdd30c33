package protocol

import "bytes"

// opening is how a status line begins that may stand within a line.
const opening = `{"@":`

// OwnAt returns where in text a status line of a run begins: a known verb and, right behind
// it, a run of which own says that it is the child's. Where nobody else knows the run, nobody
// else can have written that, or a byte between the two. It is -1 if there is none.
func OwnAt(text []byte, own func(run []byte) bool) int {
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], []byte(opening))
		if i < 0 {
			return -1
		}
		at += i
		// Strings end with the next quote, so that all this takes time in proportion to the text.
		s := scanner{text: text, pos: at + len(opening)}
		verb, ok := s.quoted()
		if !ok || !Known(string(verb)) || !s.take(',') {
			continue
		}
		if name, ok := s.quoted(); !ok || string(name) != "run" || !s.take(':') {
			continue
		}
		if id, ok := s.quoted(); ok && own(id) {
			return at
		}
	}
}

// Whole returns how many bytes the JSON value at the beginning of text has; 0 if there is
// no whole one.
func Whole(text []byte) int {
	s := scanner{text: text}
	if !s.value() {
		return 0
	}
	return s.pos
}

// quoted takes a string, and returns it decoded.
func (s *scanner) quoted() ([]byte, bool) {
	if s.next() != '"' {
		return nil, false
	}
	start := s.pos
	if !s.string() {
		return nil, false
	}
	return unquote(s.text[start:s.pos]), true
}
