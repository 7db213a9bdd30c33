package protocol

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible appends b to dst as text that can be shown anywhere on one line:
// control and escape characters, characters that reverse the direction of
// writing, and bytes that are not UTF-8 become \n, \xNN or \u{NNNN}. A tab stays.
func Visible(dst, b []byte) []byte {
	plain := 0 // start of the bytes that need no change
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf && c >= ' ' && c != 0x7f || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) && unicode.IsGraphic(r) {
			i += size
			continue
		}
		dst = append(dst, b[plain:i]...)
		switch {
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case size == 1:
			dst = append(dst, '\\', 'x', hexDigits[b[i]>>4], hexDigits[b[i]&15])
		default:
			dst = append(dst, '\\', 'u', '{')
			for shift := 20; shift >= 0; shift -= 4 {
				if digit := r >> shift & 15; r>>shift != 0 || shift < 16 {
					dst = append(dst, hexDigits[digit])
				}
			}
			dst = append(dst, '}')
		}
		i += size
		plain = i
	}
	return append(dst, b[plain:]...)
}

// VisibleJSON appends JSON to dst as text that can be shown anywhere: what Visible takes
// for unfit becomes \uNNNN, which is the same JSON, and bytes that are not UTF-8 become
// U+FFFD. It is for JSON that some encoder made, where ASCII below a blank stands between
// values only.
func VisibleJSON(dst, json []byte) []byte {
	for len(json) > 0 {
		plain := 0 // bytes that need no look at what they mean
		for plain < len(json) && json[plain] < 0x7f {
			plain++
		}
		if dst, json = append(dst, json[:plain]...), json[plain:]; len(json) == 0 {
			break
		}
		r, size := utf8.DecodeRune(json)
		switch {
		case r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsGraphic(r):
			dst = append(dst, json[:size]...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				dst = append(dst, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			}
		}
		json = json[size:]
	}
	return dst
}
