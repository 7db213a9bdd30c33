package queue

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deepestJSON is how far the decoder of the scripts follows nested values.
const deepestJSON = 1000

// decodeJSON reads JSON as leniently as the scripts do: NaN, Infinity, hexadecimal
// and raw control characters pass. Text that does not is refused.
func decodeJSON(text string) any {
	d := jsonReader{rest: text}
	v := d.value(0)
	d.blanks()
	if d.rest != "" {
		refuse("Expected the end but found")
	}
	return v
}

type jsonReader struct{ rest string }

func (d *jsonReader) blanks() { d.rest = strings.TrimLeft(d.rest, " \t\n\r") }

// take consumes a piece of text that may come next.
func (d *jsonReader) take(piece string) bool {
	d.blanks()
	rest, ok := strings.CutPrefix(d.rest, piece)
	d.rest = rest
	return ok
}

func (d *jsonReader) expect(piece, wanted string) {
	if !d.take(piece) {
		refuse("Expected %s", wanted)
	}
}

func (d *jsonReader) value(depth int) any {
	switch {
	case d.take("{"):
		d.descend(depth)
		members := map[string]any{}
		if d.take("}") {
			return members
		}
		for {
			d.expect(`"`, "object key string but found")
			name := d.text()
			d.expect(":", "colon but found")
			members[name] = d.value(depth + 1)
			if d.take("}") {
				return members
			}
			d.expect(",", "comma or object end but found")
		}
	case d.take("["):
		d.descend(depth)
		items := []any{}
		if d.take("]") {
			return items
		}
		for {
			items = append(items, d.value(depth+1))
			if d.take("]") {
				return items
			}
			d.expect(",", "comma or array end but found")
		}
	case d.take(`"`):
		return d.text()
	case d.take("true"):
		return true
	case d.take("false"):
		return false
	case d.take("null"):
		return nil
	}
	return d.number()
}

func (d *jsonReader) descend(depth int) {
	if depth >= deepestJSON {
		refuse("Found too many nested data structures")
	}
}

func (d *jsonReader) number() any {
	end := strings.IndexAny(d.rest, " \t\r\n,]}:")
	if end < 0 {
		end = len(d.rest)
	}
	f, ok := luaNumber(d.rest[:end])
	if !ok {
		refuse("Expected value but found")
	}
	d.rest = d.rest[end:]
	return f
}

// text reads a string behind its opening quote.
func (d *jsonReader) text() string {
	var out []byte
	for {
		i := strings.IndexAny(d.rest, `"\`)
		if i < 0 || i+1 == len(d.rest) && d.rest[i] == '\\' {
			refuse("Expected")
		}
		out = append(out, d.rest[:i]...)
		c := d.rest[i]
		d.rest = d.rest[i+1:]
		if c == '"' {
			return string(out)
		}
		c = d.rest[0]
		d.rest = d.rest[1:]
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, "\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case 'u':
			r := d.hex()
			if utf16.IsSurrogate(r) {
				d.expect(`\u`, "a second surrogate")
				if r = utf16.DecodeRune(r, d.hex()); r == utf8.RuneError {
					refuse("Expected")
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			refuse("Expected")
		}
	}
}

func (d *jsonReader) hex() rune {
	if len(d.rest) < 4 {
		refuse("Expected")
	}
	n, err := strconv.ParseUint(d.rest[:4], 16, 16)
	if err != nil {
		refuse("Expected")
	}
	d.rest = d.rest[4:]
	return rune(n)
}
