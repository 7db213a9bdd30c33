package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"oarlock/queue"
)

// Caller is somebody who asks, and what that one may. The zero value may nothing.
type Caller struct {
	Name    string // for the audit
	Read    bool
	Write   bool
	Put     []string // globs of the queues into which jobs may be put; Write is all
	Respond []string // globs of the classes whose parked jobs may be answered; Write is all

	addressed bool // nothing is known but that it has the address at which one job is answered
	named     bool // Name is that of a line of the file of tokens, or a user of a proxy
}

// All may everything, by a name.
func All(name string) Caller { return Caller{Name: name, Read: true, Write: true} }

// May reports whether the caller has a right; Put and Respond for some queue or class, whichever it is.
func (c Caller) May(right Right) bool {
	switch right {
	case Open:
		return true
	case Read:
		return c.Read || c.Write
	case Put:
		return len(c.Put) > 0 || c.Write
	case Respond:
		return len(c.Respond) > 0 || c.Write
	case Write:
		return c.Write
	}
	return false
}

// MayPut reports whether the caller may put jobs into a queue.
func (c Caller) MayPut(name string) bool { return c.Write || queue.MatchAny(c.Put, name) }

// MayRespond reports whether the caller may answer parked jobs of a class.
func (c Caller) MayRespond(klass string) bool { return c.Write || queue.MatchAny(c.Respond, klass) }

// readOnly takes away the rights to change anything.
func (c Caller) readOnly() Caller {
	return Caller{Name: c.Name, Read: c.Read || c.Write, named: c.named}
}

// Rights are what a caller may, as ParseRights reads it.
func (c Caller) Rights() string {
	var all []string
	if c.Read {
		all = append(all, "read")
	}
	for _, glob := range c.Put {
		all = append(all, "put:"+glob)
	}
	for _, glob := range c.Respond {
		all = append(all, "respond:"+glob)
	}
	if c.Write {
		all = append(all, "write")
	}
	return cmp.Or(strings.Join(all, ","), "nothing")
}

// ParseRights reads rights, such as "read,put:orders-*,respond:Pay": read, put with or without a glob of queues, respond with or
// without a glob of classes, write. A comma, a blank or a line break in a name is written as "?", which stands for any byte.
func ParseRights(name, text string) (Caller, error) {
	c := Caller{Name: name}
	for word := range strings.SplitSeq(text, ",") {
		right, glob, globbed := strings.Cut(word, ":")
		if !globbed {
			glob = "*"
		}
		switch {
		case right == "put" && glob == "":
			return Caller{}, fmt.Errorf("%q names no queue: put:orders-* is for those that begin so, put for all", word)
		case right == "put":
			c.Put = append(c.Put, glob)
		case right == "respond" && glob == "":
			return Caller{}, fmt.Errorf("%q names no class: respond:Pay is for parked jobs of that class, respond for all", word)
		case right == "respond":
			c.Respond = append(c.Respond, glob)
		case globbed && (right == "read" || right == "write"):
			return Caller{}, fmt.Errorf("%q: only put and respond can be for some queues or classes", word)
		case right == "read":
			c.Read = true
		case right == "write":
			c.Read, c.Write = true, true
		default:
			return Caller{}, fmt.Errorf("%q is no right: there are read, put, put:QUEUES, respond, respond:CLASSES and write", word)
		}
	}
	for _, globs := range []*[]string{&c.Put, &c.Respond} {
		slices.Sort(*globs)
		*globs = slices.Compact(*globs)
	}
	return c, nil
}
