// Package jid makes the ids of jobs. It owns their order within this process, and knows nothing else
// of jobs, nor of Redis.
package jid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// A jid that we make falls with time, because jobs of equal score are popped with the
// greatest jid first, by whatever client: so they run in the order in which they were
// put. It is the microsecond, counted down; the place among those of one microsecond,
// counted down; and chance, which nobody else draws or guesses.
const (
	timeBits     = 52 // until the year 2112
	countBits    = 12
	chanceLength = 8 // bytes
)

// ours makes the jids of this process.
var ours sequence

// sequence is the time part of jids, which never rises, even where a clock is set back.
// It is safe for concurrent use.
type sequence struct {
	mu    sync.Mutex
	last  uint64 // microseconds since the epoch
	count uint64 // jids of that microsecond before
}

// next returns the first 16 digits of the next jid.
func (s *sequence) next(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	const timeMask, countMask = 1<<timeBits - 1, 1<<countBits - 1
	switch at := uint64(max(now.UnixMicro(), 0)); {
	case at > s.last:
		s.last, s.count = at, 0
	case s.count < countMask:
		s.count++
	default:
		s.last, s.count = s.last+1, 0
	}
	return fmt.Sprintf("%016x", (timeMask-s.last&timeMask)<<countBits|(countMask-s.count))
}

// New makes a job id that nobody else makes or guesses: 32 hexadecimal digits, less
// than all that this process made before, so that among jobs of equal score the one
// that was named first is popped first. Safe for concurrent use.
func New() string {
	var chance [chanceLength]byte
	rand.Read(chance[:]) // never fails, by its documentation
	return ours.next(time.Now()) + hex.EncodeToString(chance[:])
}
