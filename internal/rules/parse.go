package rules

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rate is so many starts in so many seconds.
type rate struct {
	starts int
	period float64
}

const (
	mostPlaces = 1_000_000_000
	mostStarts = 10_000 // of a sliding rate, which remembers each
	longest    = 30 * 24 * time.Hour
)

// parseRate reads "100/10s"; "100/s" is 100 in one second.
func parseRate(text string) (rate, error) {
	number, per, both := strings.Cut(text, "/")
	starts, err := strconv.Atoi(strings.TrimSpace(number))
	if !both || err != nil {
		return rate{}, fmt.Errorf(`%q is no rate; write starts and time, as in "100/10s"`, text)
	}
	if per = strings.TrimSpace(per); strings.Trim(per, "hms") == "" {
		per = "1" + per
	}
	period, err := time.ParseDuration(per)
	switch {
	case err != nil:
		return rate{}, fmt.Errorf(`%q is no rate: %q is no time; use h, m, s, ms as in "100/10s"`, text, per)
	case starts < 1 || starts > mostPlaces:
		return rate{}, fmt.Errorf("%q starts none; a rate has one start at least, and 0 children stop a pool", text)
	case period < time.Millisecond || period > longest:
		return rate{}, fmt.Errorf("%q: its time must be between 1ms and 720h", text)
	}
	return rate{starts, period.Seconds()}, nil
}

// parseShare reads "40%" as 0.4.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || math.IsNaN(share) || share < 0 || share > 100 {
		return 0, fmt.Errorf(`%q is no share; write "40%%"`, text)
	}
	return share / 100, nil
}

// parseBy reads what a value is: where it is found, and by which name or through which members.
func parseBy(text string) ([]string, error) {
	switch prefix, tagged := strings.CutPrefix(text, "$tag:"); {
	case text == "$klass" || text == "$queue":
		return []string{text[1:]}, nil
	case tagged && prefix != "":
		return []string{"tag", prefix}, nil
	case strings.HasPrefix(text, "/") && len(text) > 1:
		members, err := ParsePointer(text)
		return append([]string{"path"}, members...), err
	}
	return nil, errors.New(strconv.Quote(text) + ` names no value of a job; write a JSON pointer such as "/region", $klass, $queue, or $tag: and how the tag begins`)
}

// ParsePointer reads a JSON pointer (RFC 6901) as the members through which it leads; there is one at least.
func ParsePointer(text string) ([]string, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("%q is no JSON pointer; write it as /order_id, or /order/id", text)
	}
	var members []string
	for token := range strings.SplitSeq(text[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return nil, fmt.Errorf("%q: in a pointer ~ is written ~0, and / is ~1", text)
		}
		members = append(members, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return members, nil
}

// literal is how many bytes of a glob stand for themselves.
func literal(glob string) int {
	return len(glob) - strings.Count(glob, "*") - strings.Count(glob, "?")
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }
