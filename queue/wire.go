package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// number writes a float so that Lua reads the same double.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// century is longer than anybody waits, and short enough that two of them can be added.
const century = 100 * 365 * 24 * time.Hour

// Duration is an amount of seconds as Redis keeps them, for a timer of ours: one that none could
// count is a century, and so is what is no number.
func Duration(seconds float64) time.Duration {
	switch {
	case seconds <= -century.Seconds():
		return -century
	case seconds < century.Seconds():
		return time.Duration(seconds * float64(time.Second))
	}
	return century
}

// mark writes the time a job was popped as the job's hash keeps it, for the scripts to
// compare as text; 0 is no mark.
func mark(popped float64) string {
	if popped == 0 {
		return ""
	}
	return strconv.FormatFloat(popped, 'f', 20, 64)
}

// jsonList writes a list of strings as the scripts want it; nil is [].
func jsonList(list []string) []byte {
	if list == nil {
		list = []string{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // a list of strings can always be written
	}
	return text
}

// replyReader walks over the flat list that a batch script answers with. The first
// item that is not what was asked for sets err, and everything after reads as zero.
type replyReader struct {
	items []any
	err   error
}

func (r *replyReader) next() any {
	if r.err != nil {
		return nil
	}
	if len(r.items) == 0 {
		r.err = fmt.Errorf("%w: a script's reply is too short", ErrDoubt)
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
		r.err = fmt.Errorf("%w: a script's reply holds %.40q, want %s", ErrDoubt, fmt.Sprint(got), want)
	}
}

// asList is a reply that is a list; anything else is an empty one, which a
// replyReader then finds too short.
func asList(reply any) []any {
	list, _ := reply.([]any)
	return list
}

// anys is a list of strings as arguments, after those given first.
func anys(list []string, first ...any) []any {
	args := make([]any, 0, len(first)+len(list))
	args = append(args, first...)
	for _, s := range list {
		args = append(args, s)
	}
	return args
}
