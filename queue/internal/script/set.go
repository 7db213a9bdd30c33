package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"
)

// Name is what a script is called by.
type Name struct {
	Dialect Dialect
	Command string
}

// Script is a text, and the SHA by which a server knows it.
type Script struct{ SHA, Text string }

// New reckons the SHA of a text.
func New(text string) Script {
	sum := sha1.Sum([]byte(text))
	return Script{hex.EncodeToString(sum[:]), text}
}

// Set is the scripts of one namespace. It is safe for concurrent use.
type Set struct {
	namespace string

	mu sync.Mutex
	by map[Name]Script // as far as used
}

// NewSet returns the scripts of a namespace; none is assembled yet.
func NewSet(namespace string) *Set {
	return &Set{namespace: namespace, by: make(map[Name]Script)}
}

// Get returns a command's script, which it assembles at its first use. The error is that there
// is no such command.
func (s *Set) Get(name Name) (Script, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.by[name]; ok {
		return known, nil
	}
	text, ok := Text(name.Dialect, name.Command, s.namespace)
	if !ok {
		return Script{}, fmt.Errorf("%s has no command %q", name.Dialect, name.Command)
	}
	made := New(text)
	s.by[name] = made
	return made, nil
}
