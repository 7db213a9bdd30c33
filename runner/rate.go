package runner

import (
	"strconv"
	"time"
)

// rate lets so many lines a second pass, and counts the others.
type rate struct {
	perSecond int // 0: all
	second    int64
	passed    int
	dropped   int // since the last that passed
}

// pass tells whether one more line may pass at now.
func (r *rate) pass(now time.Time) bool {
	if r.perSecond == 0 {
		return true
	}
	if second := now.Unix(); second != r.second {
		r.second, r.passed = second, 0
	}
	if r.passed >= r.perSecond {
		r.dropped++
		return false
	}
	r.passed++
	return true
}

// takeDropped returns how many were dropped since it was last called.
func (r *rate) takeDropped() int {
	n := r.dropped
	r.dropped = 0
	return n
}

// TooManyLines says in the log that so many lines were dropped.
func TooManyLines(n int) string {
	if n == 1 {
		return "1 line dropped (log_rate)"
	}
	return strconv.Itoa(n) + " lines dropped (log_rate)"
}
