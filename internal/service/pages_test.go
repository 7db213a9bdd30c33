package service

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"testing"

	"oarlock/internal/must"
)

func TestWhatStartingNeededIsForgotten(t *testing.T) {
	before := residentOfFiles(t)
	forgetStart()
	if after := residentOfFiles(t); after > before*3/4 {
		t.Errorf("%d KiB of files are resident, of %d before", after, before)
	}
}

// residentOfFiles returns how much of files we have mapped and resident, in KiB.
func residentOfFiles(t *testing.T) int {
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	n := must.Get(strconv.Atoi(string(regexp.MustCompile(`RssFile:\s+(\d+)`).FindSubmatch(status)[1])))(t)
	return n
}

func TestPagesThatAreNotAsInTheFileStay(t *testing.T) {
	const smaps = `00400000-01451000 r-xp 00000000 fe:00 1234                       /opt/a b/oarlock
Rss:               11700 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
01451000-024f1000 r--p 01051000 fe:00 1234                       /opt/a b/oarlock
Rss:               12932 kB
Anonymous:             4 kB
024f1000-025fc000 rw-p 020f1000 fe:00 1234                       /opt/a b/oarlock
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 77                 /usr/lib/a b/oarlock
Anonymous:             0 kB
7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0                  [vdso]
Anonymous:             0 kB
7fff00000000-7fff00001000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x1451000}}
	if got := asInFile(smaps, "/opt/a b/oarlock"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if got := asInFile(smaps, "/opt/a"); got != nil {
		t.Errorf("of a program that is not mapped: %x", got)
	}
}
