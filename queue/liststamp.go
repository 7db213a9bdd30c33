package queue

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// A start time is what the hash of entries in work says of each: JSON text of a time as hworker
// writes and reads it, RFC 3339 in UTC. hworker reads twelve digits of a second; the first three of
// ours are milliseconds, and the other nine say whose the entry is.

// stampDigits is how many digits name the owner.
const stampDigits = 9

// laterTag is that of entries which wait for their time to come, and are nobody's.
const laterTag = "000000000"

// tagOf is the tag of a worker's name. Its last digit is never 0, with which the picoseconds of a
// clock that counts in nanoseconds end.
func tagOf(worker string) string {
	sum := fnv.New64a()
	sum.Write([]byte(worker))
	n := sum.Sum64()
	return fmt.Sprintf("%08d%d", n/9%1e8, 1+n%9)
}

// stampOf writes a time, in seconds since the epoch, for the owner of a tag.
func stampOf(seconds float64, tag string) string {
	ms := int64(math.Floor(seconds * 1000))
	return time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000`) + tag + `Z"`
}

// readStamp reads a start time of whoever wrote it; ok is false if it is none.
func readStamp(text string) (seconds float64, tag string, ok bool) {
	var written string
	if json.Unmarshal([]byte(text), &written) != nil {
		return 0, "", false
	}
	at, err := time.Parse(time.RFC3339Nano, written)
	if err != nil {
		return 0, "", false
	}
	if tail := len(text) - len(`Z"`); len(text) == len(`"2006-01-02T15:04:05.000`)+stampDigits+len(`Z"`) {
		tag = text[tail-stampDigits : tail]
	}
	return float64(at.UnixMilli()) / 1000, tag, true
}
