// Package wallstep gives tests a wall clock that steps. A process cannot set the clock of its host, but it can change what
// a time.Time says of it.
package wallstep

import (
	"time"
	"unsafe"
)

// secondShift is where the seconds begin in the first word of a time.Time that has a monotonic reading.
const secondShift = 30

// Step returns t, which time.Now has returned, as it were if the wall clock had stepped by so many seconds before: the
// monotonic reading stays.
func Step(t time.Time, seconds int64) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(seconds) << secondShift
	return t
}
