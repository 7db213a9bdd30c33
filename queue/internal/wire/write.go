// Package wire is how values go to the scripts and come back: as text that Lua and Go read alike.
// It owns the forms of numbers, lists, tags and replies, and what a job's data may be. It sends
// nothing, and knows no command and no key.
package wire

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Number writes a float so that Lua reads the same double.
func Number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Mark writes the time a job was popped as the job's hash keeps it, for the scripts to
// compare as text; 0 is no mark.
func Mark(popped float64) string {
	if popped == 0 {
		return ""
	}
	return strconv.FormatFloat(popped, 'f', 20, 64)
}

// JSONList writes a list of strings as the scripts want it; nil is [].
func JSONList(list []string) []byte {
	if list == nil {
		list = []string{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // a list of strings can always be written
	}
	return text
}

// Args is a list of strings as arguments, after those given first.
func Args(list []string, first ...any) []any {
	args := make([]any, 0, len(first)+len(list))
	args = append(args, first...)
	for _, s := range list {
		args = append(args, s)
	}
	return args
}

// Literal makes text stand for itself in a pattern of Redis.
func Literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
