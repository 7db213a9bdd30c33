package queue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The printing rules of numbers; see PROTOCOL.md, Numbers.

// argNumber prints a number that a script hands to Redis.
func argNumber(f float64) string {
	return luaFormat(f, 17)
}

// shortNumber prints a number that a script joins to text or puts into JSON.
func shortNumber(f float64) string {
	return luaFormat(f, 14)
}

// timeNumber prints the time field of a job.
func timeNumber(f float64) string { return strconv.FormatFloat(f, 'f', 20, 64) }

// luaFormat is C's %.<digits>g.
func luaFormat(f float64, digits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0:
		if math.Signbit(f) {
			return "-0"
		}
		return "0"
	}
	scientific := strconv.FormatFloat(f, 'e', digits-1, 64)
	mantissa, exponent, _ := strings.Cut(scientific, "e")
	e, _ := strconv.Atoi(exponent)
	if e >= -4 && e < digits {
		plain := strconv.FormatFloat(f, 'f', digits-1-e, 64)
		if strings.Contains(plain, ".") {
			plain = strings.TrimRight(strings.TrimRight(plain, "0"), ".")
		}
		return plain
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return fmt.Sprintf("%se%+03d", mantissa, e)
}

// rounded is a number as it comes out of JSON.
func rounded(f float64) float64 {
	n, _ := strconv.ParseFloat(shortNumber(f), 64)
	return n
}

// luaNumber reads a number as Lua's tonumber does.
func luaNumber(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	digits := strings.ToLower(strings.TrimLeft(s, "+-"))
	if len(s)-len(digits) > 1 || strings.Contains(s, "_") {
		return 0, false
	}
	if strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// encodeJSON writes a value as a script does. Objects come back as jsonText when
// they have members that could stand in another order.
func encodeJSON(v any) any {
	text, ordered := appendJSON(nil, v)
	if ordered {
		return string(text)
	}
	return jsonText{v}
}

// appendJSON reports also whether the text is the only one possible.
func appendJSON(out []byte, v any) (text []byte, ordered bool) {
	ordered = true
	switch v := v.(type) {
	case nil:
		out = append(out, "null"...)
	case bool:
		out = strconv.AppendBool(out, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			refuse("Cannot serialise number")
		}
		out = append(out, shortNumber(v)...)
	case string:
		out = append(out, quoteJSON(v)...)
	case []any:
		if len(v) == 0 {
			return append(out, "{}"...), true
		}
		for i, e := range v {
			out = append(out, "[,"[min(i, 1)])
			var o bool
			out, o = appendJSON(out, e)
			ordered = ordered && o
		}
		out = append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out, ordered = append(out, ','), false
			}
			out = append(append(out, quoteJSON(name)...), ':')
			var o bool
			out, o = appendJSON(out, v[name])
			ordered = ordered && o
		}
		out = append(out, '}')
	}
	return out, ordered
}

var jsonEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "/", `\/`, "\b", `\b`, "\t", `\t`, "\n", `\n`, "\f", `\f`,
	"\r", `\r`, "\x7f", `\u007f`)

func quoteJSON(s string) string {
	var out strings.Builder
	for _, part := range strings.SplitAfter(jsonEscapes.Replace(s), "") {
		if part[0] < ' ' {
			fmt.Fprintf(&out, `\u%04x`, part[0])
		} else {
			out.WriteString(part)
		}
	}
	return `"` + out.String() + `"`
}

// plainJSON turns a decoded value into what a reader of its encoding sees: numbers
// lose digits, empty lists become objects.
func plainJSON(v any) any {
	switch v := v.(type) {
	case float64:
		return rounded(v)
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainJSON(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = plainJSON(v[name])
		}
		return out
	}
	return v
}

// object writes members in the order given: name, value, name, value …
func object(members ...any) string {
	out := []byte("{")
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quoteJSON(members[i].(string))...), ':')
		out, _ = appendJSON(out, members[i+1])
	}
	return string(append(out, '}'))
}

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
