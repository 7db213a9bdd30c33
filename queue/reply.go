package queue

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// errUnknown is queue.ErrDoubt: a reply that cannot be read tells nothing of what the call did.
var errUnknown = errors.New("outcome unknown")

// replyReader walks over the flat list that a batch script answers with. The first
// item that is not what was asked for sets err, and everything after reads as zero.
type replyReader struct {
	items []any
	err   error
}

// readReply begins with a script's reply. One that is no list is an empty one, and found too short.
func readReply(reply any) replyReader {
	list, _ := reply.([]any)
	return replyReader{items: list}
}

func (r *replyReader) next() any {
	if r.err != nil {
		return nil
	}
	if len(r.items) == 0 {
		r.err = fmt.Errorf("%w: a script's reply is too short", errUnknown)
		return nil
	}
	item := r.items[0]
	r.items = r.items[1:]
	return item
}

// text reads a string; null reads as "".
func (r *replyReader) text() string {
	switch item := r.next().(type) {
	case string:
		return item
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(item, 10)
	default:
		r.fail("text", item)
		return ""
	}
}

// bytes reads a string; null reads as nil.
func (r *replyReader) bytes() []byte {
	switch item := r.next().(type) {
	case string:
		return []byte(item)
	case nil:
		return nil
	default:
		r.fail("text", item)
		return nil
	}
}

// nested reads a list, if one comes next; else it is nil. Where the scripts answer with
// a list in place of a plain value, something is to be said.
func (r *replyReader) nested() *replyReader {
	if len(r.items) == 0 {
		return nil
	}
	list, ok := r.items[0].([]any)
	if !ok {
		return nil
	}
	r.next()
	return &replyReader{items: list}
}

// int reads a whole number; null and "" read as 0.
func (r *replyReader) int() int { return int(r.float()) }

// float reads a number, sent as text because a Lua number loses its fraction on the
// way out; null and "" read as 0.
func (r *replyReader) float() float64 {
	switch item := r.next().(type) {
	case int64:
		return float64(item)
	case string:
		if item == "" {
			return 0
		}
		f, err := strconv.ParseFloat(item, 64)
		if err != nil {
			r.fail("a number", item)
		}
		return f
	case nil:
		return 0
	default:
		r.fail("a number", item)
		return 0
	}
}

// list reads a list; null reads as an empty one.
func (r *replyReader) list() []any {
	item := r.next()
	if list, ok := item.([]any); ok || item == nil {
		return list
	}
	r.fail("a list", item)
	return nil
}

func (r *replyReader) fail(want string, got any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: a script's reply holds %.40q, want %s", errUnknown, fmt.Sprint(got), want)
	}
}

// fieldReader reads what a job's hash holds, which any client may have written.
type fieldReader struct {
	replyReader
	damage []string // what could not be read, in words
}

// number reads a finite number; one that is missing or empty is 0.
func (r *fieldReader) number(field string) float64 {
	text := r.text()
	if text == "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsInf(f, 0) || math.IsNaN(f) {
		r.damage = append(r.damage, fmt.Sprintf("its field %s is %.40q, no number", field, text))
		return 0
	}
	return f
}

// json reads a JSON text; one that is missing or empty is nil.
func (r *fieldReader) json(field string) []byte {
	text := r.bytes()
	if len(text) == 0 {
		return nil
	}
	if err := checkJSON(text); err != nil {
		r.damage = append(r.damage, fmt.Sprintf("its field %s: %v", field, err))
		return nil
	}
	return text
}

// count is number for whole numbers. What exceeds an int is as good as the largest.
func (r *fieldReader) count(field string) int {
	return clampInt(r.number(field))
}
