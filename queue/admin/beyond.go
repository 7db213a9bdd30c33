package admin

import (
	"fmt"
	"slices"
	"strings"

	"oarlock/queue"
)

// Beyond are jobs that have more of something than a put may give them. Foreign clients put such jobs, and older versions did.
type Beyond struct {
	What      string   // one of BeyondWhats
	Recurring bool     // they are recurring jobs of the protocol
	Jobs      int      // how many
	JIDs      []string // the first three
}

// BeyondWhats are what jobs can have too much of: long names of these fields, or too many of these; see queue.MaxName and the like. A put
// bounds what a job depends on; dependents are counted by the same bound.
var BeyondWhats = []string{"jid", "klass", "queue", "tags", "throttles", "dependencies", "dependents"}

// mostBeyond is how many jobs of a kind are named.
const mostBeyond = 3

// beyond looks for jobs, or recurring jobs, that are beyond the bounds of a put.
func (k *keys) beyond(prefix string, jids []string) error {
	args := []any{k.ns, prefix, queue.MaxName, queue.MaxJID, queue.MaxTags, queue.MaxThrottles, queue.MaxDepends}
	answers, err := k.run(beyondScript, args, jids)
	if err != nil {
		return err
	}
	for answer := range slices.Chunk(answers, 3) {
		if answer[1] == "later" && len(jids) > 1 {
			if err := k.beyond(prefix, answer[:1]); err != nil {
				return err
			}
			continue
		}
		for _, what := range strings.Fields(answer[1]) {
			if slices.Contains(BeyondWhats, what) { // else it cannot be read, as others tell
				k.exceeds(what, prefix == "r:", answer[0])
			}
		}
	}
	return nil
}

// exceeds notes a job, once.
func (k *keys) exceeds(what string, recurring bool, jid string) {
	said := fmt.Sprint("beyond ", what, recurring, jid)
	if _, twice := k.said[said]; twice {
		return
	}
	k.said[said] = struct{}{}
	at := slices.IndexFunc(k.account.Beyond, func(b Beyond) bool { return b.What == what && b.Recurring == recurring })
	if at < 0 {
		at = len(k.account.Beyond)
		k.account.Beyond = append(k.account.Beyond, Beyond{What: what, Recurring: recurring})
	}
	b := &k.account.Beyond[at]
	if b.Jobs++; len(b.JIDs) < mostBeyond {
		b.JIDs = append(b.JIDs, jid)
	}
}
