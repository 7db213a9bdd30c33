package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep the protocol's scripts let JSON be nested.
const maxDepth = 1000

// CheckJSON sees that data is what the protocol accepts as a job's data. The batch scripts
// rely on it: decoding megabytes there would hold up everybody.
func CheckJSON(data []byte) error {
	if !json.Valid(data) {
		return errors.New("the data is not JSON")
	}
	if string(bytes.TrimSpace(data)) == "false" {
		return errors.New("the data must not be false")
	}
	if depth := Nesting(data); depth > maxDepth {
		return fmt.Errorf("the data is nested %d deep, more than %d", depth, maxDepth)
	}
	return nil
}

// CheckEntry is CheckJSON for data that comes in by a door of ours: JSON is UTF-8, and most programs that read
// it refuse what is not.
func CheckEntry(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the data is not UTF-8, as JSON is")
	}
	return CheckJSON(data)
}

// Nesting is how deep valid JSON goes.
func Nesting(data []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
