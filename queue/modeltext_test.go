package queue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
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
