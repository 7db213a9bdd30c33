package queue

import (
	"fmt"
	"strings"
)

// Names are parts of keys as they are, so the name of one job or throttle can be the key of another.

// jobParts are the keys that a job has beside its hash, by how they end, and what they hold.
var jobParts = []struct{ ends, holds string }{
	{"-history", "the history"}, {"-dependencies", "the dependencies"}, {"-dependents", "the dependents"},
}

// throttleParts are those of a throttle.
var throttleParts = []struct{ ends, holds string }{{"-locks", "the holders"}, {"-pending", "the waiting jobs"}}

// SharedKeyError says of a name that it has a key of something else.
type SharedKeyError struct {
	Kind  string // of name: "jid" or "throttle"
	Name  string
	Of    string // "job" or "throttle"
	Other string // the job or throttle that shares a key with it
	Holds string // what is there: "the history"
}

func (e *SharedKeyError) Error() string {
	return fmt.Sprintf("%s %.60s has the key of %s of %s %.60s; choose another name", e.Kind, e.Name, e.Holds, e.Of, e.Other)
}

// CheckJID refuses a jid that is a key of another job: the job a-history has the key of the history of job a. The error is a *SharedKeyError.
func CheckJID(jid string) error {
	for _, part := range jobParts {
		if other, is := strings.CutSuffix(jid, part.ends); is && other != "" {
			return &SharedKeyError{Kind: "jid", Name: jid, Of: "job", Other: other, Holds: part.holds}
		}
	}
	return nil
}

// CheckThrottle refuses the name of a throttle that is a key of another: a-locks has the key of the holders of throttle a. The error is
// a *SharedKeyError.
func CheckThrottle(id string) error {
	for _, part := range throttleParts {
		if other, is := strings.CutSuffix(id, part.ends); is && other != "" {
			return &SharedKeyError{Kind: "throttle", Name: id, Of: "throttle", Other: other, Holds: part.holds}
		}
	}
	return nil
}
