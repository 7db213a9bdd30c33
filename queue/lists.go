package queue

import (
	"strings"
	"time"
)

// List is a list of Redis whose entries are worked where they lie, by hworker's protocol: an entry that
// is taken leaves the list for a hash of what is in work, with its start time, and whoever finds one there
// whose time is over puts it back. Other programs may push to it and take from it.
type List struct {
	// Name is hworker:NAME, for the four keys and the envelope of an hworker of that name, or a key.
	Name string
	// Timeout is how long an entry may be in work without a sign before it counts as abandoned; at least a second.
	Timeout time.Duration
	// Heartbeat gives the sign, so that a job may take longer than Timeout. Without it such a job is
	// worked a second time beside the first, and whoever ends first ends both, as with hworker.
	Heartbeat bool
	// Monitor tells that somebody here calls MonitorList.
	Monitor bool
	Failed  int // how many of the entries that failed are kept, at least 1
	Retries int // after so many an entry fails; 0 means no limit
}

// hworkerPrefix begins the name of a list that is an hworker's.
const hworkerPrefix = "hworker:"

// hworkerOf is the name of the hworker whose list that is; "" if it is none's.
func hworkerOf(list string) string {
	name, is := strings.CutPrefix(list, hworkerPrefix)
	if !is {
		return ""
	}
	return name
}

// ListKlass is the class of the jobs of a list: the name of its hworker, or that of the list.
func ListKlass(list string) string {
	if name := hworkerOf(list); name != "" {
		return name
	}
	return list
}

// ListKey is the key of a list: where programs push to.
func ListKey(list string) string {
	if name := hworkerOf(list); name != "" {
		return "hworker-jobs-" + name
	}
	return list
}

// listKeys are the keys of a list. Those of an hworker are in no namespace; those of ours are.
type listKeys struct {
	jobs, progress, failed, broken string
	reasons, tries                 string
	why                            string // of an hworker's list, why entries are broken, for which it has a time only; else as broken
}

func (c *Client) listKeys(list string) listKeys {
	k := listKeys{
		jobs:     ListKey(list),
		progress: c.ns + "oarlock:progress:" + list,
		failed:   c.ns + "oarlock:failed:" + list,
		broken:   c.ns + "oarlock:broken:" + list,
		reasons:  c.ns + "oarlock:reasons:" + list,
		tries:    c.ns + "oarlock:tries:" + list,
	}
	k.why = k.broken
	if name := hworkerOf(list); name != "" {
		k.progress, k.failed, k.broken = "hworker-progress-"+name, "hworker-failed-"+name, "hworker-broken-"+name
	}
	return k
}
