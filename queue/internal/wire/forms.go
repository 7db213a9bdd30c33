package wire

import (
	"encoding/json"
	"math"
	"strconv"
)

// List is a JSON list, which the scripts write as {} when it is empty.
type List[T any] []T

// UnmarshalJSON reads either form.
func (l *List[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "{}" {
		*l = nil
		return nil
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// Label is a tag: text, or a number, which the protocol lets through.
type Label string

// UnmarshalJSON reads either form.
func (l *Label) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = Label(s)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	*l = Label(Number(f))
	return err
}

// Labels are the texts of tags; nil if there are none.
func Labels(tags List[Label]) []string {
	if len(tags) == 0 {
		return nil
	}
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = string(tag)
	}
	return texts
}

// ClampInt is f as an int; what exceeds one is as good as the largest.
func ClampInt(f float64) int { return int(max(-math.MaxInt32, min(f, math.MaxInt32))) }

// Tags reads a job's tags: {} is how the scripts write none, and a number is kept
// as a number. What cannot be read is none.
func Tags(text string) []string {
	if text == "" || text == "{}" || text == "[]" {
		return nil
	}
	var tags []any
	if json.Unmarshal([]byte(text), &tags) != nil {
		return nil
	}
	list := make([]string, 0, len(tags))
	for _, tag := range tags {
		switch tag := tag.(type) {
		case string:
			list = append(list, tag)
		case float64:
			list = append(list, Number(tag))
		}
	}
	return list
}
