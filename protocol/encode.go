package protocol

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendHello appends the answer to a child's hello: the version both will
// speak, the name under which Redis knows the worker, and the longest line that
// will be read, in bytes.
func AppendHello(dst []byte, worker string, maxLine int) []byte {
	dst = append(dst, `{"@":"hello","v":`...)
	dst = appendInt(dst, Version)
	dst = append(dst, `,"worker":`...)
	dst = appendString(dst, worker)
	dst = append(dst, `,"max_line":`...)
	dst = appendInt(dst, maxLine)
	return append(dst, '}', '\n')
}

// AppendCancel appends the line that asks a child to end a run, for one of the
// Reason constants, within grace.
func AppendCancel(dst []byte, run, reason string, grace time.Duration) []byte {
	dst = append(dst, `{"@":"cancel","run":`...)
	dst = appendString(dst, run)
	dst = append(dst, `,"reason":`...)
	dst = appendString(dst, reason)
	dst = append(dst, `,"grace":`...)
	dst = appendSeconds(dst, grace)
	return append(dst, '}', '\n')
}

// AppendDraining appends the line that asks a child to come to an end with a run
// where it can go on later, because it will be interrupted when left is over; 0 or
// less: it will not, but it keeps a replacement waiting.
func AppendDraining(dst []byte, run string, left time.Duration) []byte {
	dst = append(dst, `{"@":"draining","run":`...)
	dst = appendString(dst, run)
	if left > 0 {
		dst = append(dst, `,"left":`...)
		dst = appendSeconds(dst, left)
	}
	return append(dst, '}', '\n')
}

// AppendShutdown appends the line that asks a child to finish what it has and to
// leave within grace.
func AppendShutdown(dst []byte, grace time.Duration) []byte {
	dst = append(dst, `{"@":"shutdown","grace":`...)
	dst = appendSeconds(dst, grace)
	return append(dst, '}', '\n')
}

// AppendFork appends the request to a preloaded factory for one more process, with
// what is to be added to its environment. The four descriptors travel beside it as
// ancillary data.
func AppendFork(dst []byte, slot int, env map[string]string) []byte {
	dst = append(dst, `{"@":"fork","slot":`...)
	dst = appendInt(dst, slot)
	for i, name := range slices.Sorted(maps.Keys(env)) {
		dst = append(dst, [...]string{`,"env":{`, ","}[min(i, 1)]...)
		dst = append(appendString(dst, name), ':')
		dst = appendString(dst, env[name])
	}
	if len(env) > 0 {
		dst = append(dst, '}')
	}
	return append(dst, '}', '\n')
}

// appendRaw embeds JSON as it is, kept on one line.
func appendRaw(dst, json []byte) []byte {
	if len(json) == 0 {
		return append(dst, "null"...)
	}
	start := len(dst)
	dst = append(dst, json...)
	for i, c := range dst[start:] {
		if c == '\n' || c == '\r' { // between tokens: no valid string holds one
			dst[start+i] = ' '
		}
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0 // start of the bytes that need no change
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[plain:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\ufffd"...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		plain = i
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// appendNumber appends f as a JSON number, 0 for what JSON cannot say.
func appendNumber(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, '0')
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// appendSeconds appends d in seconds, to the millisecond.
func appendSeconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, float64(d.Round(time.Millisecond).Milliseconds())/1000, 'f', -1, 64)
}
