package wire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrDoubt is queue.ErrDoubt: a reply that cannot be read tells nothing of what the call did.
var ErrDoubt = errors.New("outcome unknown")

// Reader walks over the flat list that a batch script answers with. The first item that is not what
// was asked for sets Err, an ErrDoubt, and everything after reads as zero. It is for one goroutine.
type Reader struct {
	Items []any // those that are left
	Err   error
}

// Read begins with a script's reply. One that is no list is an empty one, and found too short.
func Read(reply any) Reader {
	list, _ := reply.([]any)
	return Reader{Items: list}
}

func (r *Reader) next() any {
	if r.Err != nil {
		return nil
	}
	if len(r.Items) == 0 {
		r.Err = fmt.Errorf("%w: a script's reply is too short", ErrDoubt)
		return nil
	}
	item := r.Items[0]
	r.Items = r.Items[1:]
	return item
}

// Text reads a string; null reads as "".
func (r *Reader) Text() string {
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

// Bytes reads a string; null reads as nil.
func (r *Reader) Bytes() []byte {
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

// Nested reads a list, if one comes next; else it is nil. Where the scripts answer with
// a list in place of a plain value, something is to be said.
func (r *Reader) Nested() *Reader {
	if len(r.Items) == 0 {
		return nil
	}
	list, ok := r.Items[0].([]any)
	if !ok {
		return nil
	}
	r.next()
	return &Reader{Items: list}
}

// Int reads a whole number; null and "" read as 0.
func (r *Reader) Int() int { return int(r.Float()) }

// Finite is f, or what is nearest to it of what JSON can say: a score that somebody wrote may be infinite.
func Finite(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}

// Float reads a number, sent as text because a Lua number loses its fraction on the
// way out; null and "" read as 0. It is finite.
func (r *Reader) Float() float64 { return Finite(r.Score()) }

// Score reads a number as Float does, which may be infinite.
func (r *Reader) Score() float64 {
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

// List reads a list; null reads as an empty one.
func (r *Reader) List() []any {
	item := r.next()
	if list, ok := item.([]any); ok || item == nil {
		return list
	}
	r.fail("a list", item)
	return nil
}

func (r *Reader) fail(want string, got any) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: a script's reply holds %.40q, want %s", ErrDoubt, fmt.Sprint(got), want)
	}
}

// Fields reads what a job's hash holds, which any client may have written.
type Fields struct {
	Reader
	Damage []string // what could not be read, in words
}

// Number reads a finite number; one that is missing or empty is 0.
func (r *Fields) Number(field string) float64 {
	text := r.Text()
	if text == "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsInf(f, 0) || math.IsNaN(f) {
		r.Damage = append(r.Damage, fmt.Sprintf("its field %s is %.40q, no number", field, text))
		return 0
	}
	return f
}

// JSON reads a JSON text; one that is missing or empty is nil.
func (r *Fields) JSON(field string) []byte {
	text := r.Bytes()
	if len(text) == 0 {
		return nil
	}
	if err := CheckJSON(text); err != nil {
		r.Damage = append(r.Damage, fmt.Sprintf("its field %s: %v", field, err))
		return nil
	}
	return text
}

// Count is Number for whole numbers. What exceeds an int is as good as the largest.
func (r *Fields) Count(field string) int {
	return ClampInt(r.Number(field))
}
