package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
)

// Duration is a string with a unit in the file, such as "90s" or "24h". A bare number
// is an error, because nobody can see whether it meant seconds; "" is zero.
type Duration time.Duration

const (
	second = Duration(time.Second)
	hour   = Duration(time.Hour)
)

// String is the duration as the file would say it.
func (d Duration) String() string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

func (d *Duration) fromTOML(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf(`a duration is a string with a unit, such as "90s"; got %s`, describe(value))
	}
	if text == "" {
		*d = 0
		return nil
	}
	parsed, err := ParseDuration(text)
	switch {
	case err != nil:
		return err
	case parsed < 0:
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(parsed)
	return nil
}

// ParseDuration reads a duration with its unit, such as "90s". The error says how to write one.
func ParseDuration(text string) (time.Duration, error) {
	parsed, err := time.ParseDuration(text)
	switch {
	case err == nil:
		return parsed, nil
	case strings.ContainsAny(text, "0123456789") && strings.Trim(text, "+-.0123456789") == "":
		return 0, fmt.Errorf(`%q has no unit; write "%ss" for seconds`, text, text)
	}
	return 0, fmt.Errorf(`%q is no duration; use h, m, s, ms as in "1h30m"`, text)
}

// Size is a number of bytes; a string with a unit in the file, such as "512MiB". "" is
// zero.
type Size int64

// String is the size as the file would say it.
func (s Size) String() string {
	if s == 0 {
		return ""
	}
	return strings.ReplaceAll(humanize.IBytes(uint64(s)), " ", "")
}

func (s *Size) fromTOML(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf(`a size is a string with a unit, such as "512MiB"; got %s`, describe(value))
	}
	if text == "" {
		*s = 0
		return nil
	}
	if strings.IndexFunc(text, unicode.IsLetter) < 0 {
		return fmt.Errorf(`%q has no unit; write "%sMiB" or "%sB"`, text, text, text)
	}
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes > 1<<62 {
		return fmt.Errorf(`%q is no size; use B, KiB, MiB, GiB as in "512MiB"`, text)
	}
	*s = Size(bytes)
	return nil
}

// Prefetch is how many jobs are kept ready for a child at work; in the file a number, or "auto".
type Prefetch int

// AutoPrefetch is "auto": as many as short jobs make worth while.
const AutoPrefetch Prefetch = -1

// String is the number as the file would say it.
func (p Prefetch) String() string {
	if p == AutoPrefetch {
		return "auto"
	}
	return strconv.Itoa(int(p))
}

func (p *Prefetch) fromTOML(value any) error {
	switch value := value.(type) {
	case int64:
		if value < 0 || value > maxPrefetch {
			return fmt.Errorf(`%d is no number of jobs from 0 to %d; "auto" finds one`, value, maxPrefetch)
		}
		*p = Prefetch(value)
		return nil
	case string:
		if value == "auto" {
			*p = AutoPrefetch
			return nil
		}
	}
	return fmt.Errorf(`prefetch is a number of jobs, or "auto"; got %s`, describe(value))
}

// maxPrefetch bounds what one child can lose sight of.
const maxPrefetch = 10_000

// ParsePrefetch reads a number of jobs, or "auto".
func ParsePrefetch(text string) (p Prefetch, err error) {
	if n, bad := strconv.ParseInt(text, 10, 64); bad == nil {
		return p, p.fromTOML(n)
	}
	return p, p.fromTOML(text)
}

// Curves are the names a Backoff may have.
var Curves = []string{"constant", "linear", "exponential", "quartic"}

// Backoff says how waits grow: by a curve, or as a list whose last entry repeats.
type Backoff struct {
	Curve string     // one of Curves; "" if List says it
	List  []Duration // at least one, if Curve is ""
}

func (b *Backoff) fromTOML(value any) error {
	switch value := value.(type) {
	case string:
		*b = Backoff{Curve: value}
		return OneOf(value, Curves)
	case []any:
		if len(value) == 0 {
			return errors.New("the list is empty")
		}
		list := make([]Duration, len(value))
		for i, item := range value {
			switch item := item.(type) {
			case int64:
				list[i] = Duration(item) * second
			case float64:
				list[i] = Duration(item * float64(second))
			default:
				if err := list[i].fromTOML(item); err != nil {
					return err
				}
			}
			if list[i] < 0 {
				return errors.New("a wait in the list is negative")
			}
		}
		*b = Backoff{List: list}
		return nil
	}
	return fmt.Errorf(`a backoff is a name (%s) or a list of seconds; got %s`, strings.Join(Curves, ", "), describe(value))
}

// OneOf says which words are allowed if word is not among them.
func OneOf(word string, allowed []string) error {
	for _, each := range allowed {
		if word == each {
			return nil
		}
	}
	text := fmt.Sprintf("%q is none of %s", word, strings.Join(allowed, ", "))
	if near := Nearest(word, allowed); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return errors.New(text)
}

// describe names a TOML value by what the user sees in the file.
func describe(value any) string {
	switch value := value.(type) {
	case string:
		return fmt.Sprintf("the string %q", value)
	case int64, float64:
		return fmt.Sprintf("the number %v", value)
	case bool:
		return fmt.Sprintf("%v", value)
	case []any:
		return "a list"
	case map[string]any, []map[string]any:
		return "a table"
	case time.Time:
		return "a date"
	}
	return fmt.Sprintf("%v", value)
}
