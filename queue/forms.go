package queue

import (
	"encoding/json"
	"math"
	"strconv"
)

// list is a JSON list, which the scripts write as {} when it is empty.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "{}" {
		*l = nil
		return nil
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// label is a tag: text, or a number, which the protocol lets through.
type label string

func (l *label) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = label(s)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	*l = label(number(f))
	return err
}

func labels(tags list[label]) []string {
	if len(tags) == 0 {
		return nil
	}
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = string(tag)
	}
	return texts
}

// clampInt is f as an int; what exceeds one is as good as the largest.
func clampInt(f float64) int { return int(max(-math.MaxInt32, min(f, math.MaxInt32))) }

// parseTags reads a job's tags: {} is how the scripts write none, and a number is kept
// as a number. What cannot be read is none.
func parseTags(text string) []string {
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
			list = append(list, number(tag))
		}
	}
	return list
}
