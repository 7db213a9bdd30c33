package queue

import (
	"encoding/json"
	"strconv"
)

// number writes a float so that Lua reads the same double.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

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

// anys is a list of strings as arguments, after those given first.
func anys(list []string, first ...any) []any {
	args := make([]any, 0, len(first)+len(list))
	args = append(args, first...)
	for _, s := range list {
		args = append(args, s)
	}
	return args
}
