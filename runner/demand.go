package runner

import (
	"fmt"

	"oarlock/runner/internal/tree"

	"github.com/dustin/go-humanize"
)

// Demand is what children take of what bounds a host; see Bounds. The zero value is that of a
// supervisor without any.
type Demand struct {
	children int
	takes    [3]uint64 // by resources
}

// resources are all of them, in the order of Demand.takes.
var resources = [3]Resource{Processes, Files, Memory}

// ownTakes is what a supervisor needs itself. With one pool it has 27 descriptors open, and a few more while clients watch.
var ownTakes = [3]uint64{64, 40, 64 << 20}

// takes is what a child takes that is killed so, beside what its program does with it: a guard
// is a process of some eight threads. Descriptors are ours, 7 as measured: pipes, processes, a control group.
func takes(k KillStrength) [3]uint64 {
	if k == KillGuard {
		return [3]uint64{9, 7, 2_500_000}
	}
	return [3]uint64{1, 7, 64 << 10}
}

// With is the demand with so many children more, killed as k says, which is not KillAuto.
func (d Demand) With(k KillStrength, children int) Demand {
	d.children += children
	for i, each := range takes(k) {
		d.takes[i] += each * uint64(children)
	}
	return d
}

// Tightest returns the bound of which the demand takes the largest part, and that part of what
// the supervisor itself leaves: more than 1 if the host does not carry it. There is none if
// bounds is empty.
func (d Demand) Tightest(bounds []Bound) (tightest Bound, part float64) {
	for _, b := range bounds {
		for i, r := range resources {
			if b.Of != r || b.Max == 0 {
				continue
			}
			if p := float64(d.takes[i]) / float64(max(int64(b.Max)-int64(ownTakes[i]), 1)); p > part {
				tightest, part = b, p
			}
		}
	}
	return tightest, part
}

// Room is for how many children, killed as k says, there is room beside the demand.
func (d Demand) Room(k KillStrength, bounds []Bound) int {
	room := maxChildren
	for _, b := range bounds {
		for i, r := range resources {
			if taken := d.takes[i] + ownTakes[i]; b.Of == r && b.Max > 0 {
				left := max(int64(b.Max)-int64(taken), 0)
				room = min(room, int(left/int64(takes(k)[i])))
			}
		}
	}
	return max(min(room, maxChildren-d.children), 0)
}

// maxChildren is how many children a host watches over the leases of: each may take two rows.
const maxChildren = tree.MaxLeases/2 - 16

// Told says in one sentence what the demand takes of the bound that is tightest, and whether
// the host carries that.
func (d Demand) Told(bounds []Bound) string {
	b, part := d.Tightest(bounds)
	if b.Max == 0 || d.children == 0 {
		return ""
	}
	for i, r := range resources {
		if r == b.Of {
			told := fmt.Sprintf("%s take about %s of the %s %s that there may be (%s)",
				childrenWord(d.children), b.count(d.takes[i]), b.count(b.Max), b.unit(), b.Where)
			if part > 1 && r == Files {
				told += fmt.Sprintf(", of which the supervisor itself needs %d", ownTakes[i])
			}
			if part > 1 {
				told += ", which is too much"
			}
			return told
		}
	}
	return ""
}

func childrenWord(n int) string {
	if n == 1 {
		return "1 child"
	}
	return humanize.Comma(int64(n)) + " children"
}

// unit is what the numbers of the bound count.
func (b Bound) unit() string {
	if b.Of == Memory {
		return "of memory"
	}
	return string(b.Of)
}
