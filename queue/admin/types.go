package admin

import (
	"fmt"
	"strings"
)

// kinds are the types that a key can have.
var kinds = []string{"string", "list", "set", "zset", "hash", "stream"}

// keyType says of which type a key is whose name begins and ends so, the namespace left
// out. The first that fits counts; a jid or the name of a throttle may end like a key, so a hash is
// legal there, too.
type keyType struct{ prefix, suffix, kind string }

var keyTypes = []keyType{
	{"q:", "-work", "zset"}, {"q:", "-locks", "zset"}, {"q:", "-scheduled", "zset"}, {"q:", "-depends", "zset"},
	{"q:", "-throttled", "zset"}, {"q:", "-recur", "zset"},
	{"j:", "-history", "list"}, {"j:", "-dependencies", "set"}, {"j:", "-dependents", "set"}, {"j:", "", "hash"},
	{"r:", "", "hash"}, {"th:", "-locks", "zset"}, {"th:", "-pending", "zset"}, {"th:", "", "hash"},
	{"t:", "", "zset"}, {"f:", "", "list"}, {"w:", ":jobs", "zset"}, {"s:", "", "hash"},
	{"queues", "", "zset"}, {"paused_queues", "", "set"}, {"workers", "", "zset"}, {"completed", "", "zset"},
	{"tracked", "", "zset"}, {"tags", "", "zset"}, {"failures", "", "set"}, {"config", "", "hash"},
	{"oarlock:unblock", "", "zset"}, {"oarlock:crons", "", "zset"}, {"oarlock:cron-state", "", "hash"}, {"oarlock:stats-sweep", "", "hash"},
	{"oarlock:rules", "", "hash"}, {"oarlock:hooks", "", "hash"}, {"oarlock:outside", "", "hash"}, {"oarlock:behind", "", "hash"}, {"oarlock:needs", "", "set"}, {"oarlock:edition:", "", "hash"}, {"oarlock:places", "", "string"}, {"oarlock:tended", "", "hash"},
	{"oarlock:turns:", "", "hash"}, {"oarlock:lanes:", "", "zset"}, {"oarlock:lane:", "", "list"},
	{"oarlock:cron:", "", "hash"}, {"oarlock:cron-held:", "", "hash"}, {"oarlock:cron-files:", "", "set"},
	{"oarlock:waitlist:", "", "zset"}, {"oarlock:waitlists:", "", "hash"}, {"oarlock:open:", "", "zset"}, {"oarlock:due:", "", "zset"},
	{"oarlock:rota:", "", "zset"}, {"oarlock:over:", "", "zset"}, {"oarlock:rested:", "", "zset"}, {"oarlock:fair:", "", "zset"}, {"oarlock:virtual", "", "hash"},
	{"oarlock:wait:", "", "zset"}, {"oarlock:eldest:", "", "zset"}, {"oarlock:starts:", "", "zset"}, {"oarlock:seen", "", "hash"}, {"oarlock:served", "", "zset"},
	{"oarlock:orders", "", "hash"}, {"oarlock:asker:", "", "hash"}, {"oarlock:asked:", "", "zset"}, {"oarlock:windows", "", "hash"},
	{"oarlock:reconsider", "", "hash"}, {"oarlock:waited", "", "set"}, {"oarlock:held", "", "set"},
	{"oarlock:correlations:", "", "hash"}, {"oarlock:correlations-due", "", "zset"}, {"oarlock:early:", "", "hash"},
	{"oarlock:responses", "", "list"}, {"oarlock:responses-broken", "", "list"},
	{"oarlock:progress:", "", "hash"}, {"oarlock:failed:", "", "list"}, {"oarlock:broken:", "", "hash"}, {"oarlock:reasons:", "", "list"}, {"oarlock:tries:", "", "hash"},
}

// ExpectedType is of which type a key is, named without the namespace; "" if it is none of ours or the protocol's.
func ExpectedType(name string) string {
	for _, k := range keyTypes {
		whole := !strings.HasSuffix(k.prefix, ":")
		if name == k.prefix && whole || !whole && strings.HasPrefix(name, k.prefix) && strings.HasSuffix(name, k.suffix) {
			return k.kind
		}
	}
	return ""
}

// types looks for keys whose type is not what every program takes it for. Nobody can tell what
// they were meant to be, so they are left to a person.
func (k *keys) types() error {
	for _, kind := range kinds {
		err := k.each("*", kind, func(names []string) error {
			for _, name := range names {
				want := ExpectedType(name)
				if want == "" || want == kind || kind == "hash" && (strings.HasPrefix(name, "j:") || strings.HasPrefix(name, "th:")) {
					continue
				}
				k.account.Wrong++
				k.report(Contradiction{Text: fmt.Sprintf("%s%s is a %s, not a %s: %s", k.ns, name, kind, want, suffers(name)), Type: true})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// suffers says what does not work with a key of a wrong type.
func suffers(name string) string {
	of, rest, _ := strings.Cut(name, ":")
	switch of {
	case "q":
		return "the queue " + rest[:strings.LastIndexByte(rest, '-')] + " cannot be worked"
	case "j":
		return "its job cannot be worked"
	case "th":
		return "jobs that need this throttle cannot be worked"
	case "oarlock":
		if kind, queue, _ := strings.Cut(rest, ":"); kind == "waitlists" || kind == "open" || kind == "due" {
			return "the queue " + queue + " cannot be worked"
		}
	case "r":
		return "this recurring job puts nothing"
	}
	return "commands that need it fail"
}
