package queue

import "fmt"

// Bounds of a job that is put. Jobs that are already in Redis, or that other clients put, may exceed them, and still run.
const (
	MaxName      = 1024  // bytes of the name of a queue, a class, a tag or a throttle
	MaxJID       = 512   // bytes of a jid
	MaxTags      = 256   // tags of a job
	MaxThrottles = 64    // throttles of a job, and windows
	MaxDepends   = 10000 // jobs that a job waits for
)

// checkName refuses a name that is longer than most bytes.
func checkName(what, name string, most int) error {
	if len(name) > most {
		return fmt.Errorf("%s must have at most %d bytes: it has %d", what, most, len(name))
	}
	return nil
}

// checkNames refuses a list of more than most names, and what checkName refuses of one.
func checkNames(what string, names []string, most, bytes int) error {
	if len(names) > most {
		return fmt.Errorf("a job has at most %d %s: it has %d", most, plural(what), len(names))
	}
	for _, name := range names {
		if err := checkName("a "+what, name, bytes); err != nil {
			return err
		}
	}
	return nil
}

// CheckBounds refuses names that are too long, and lists that have too many.
func (p *Put) CheckBounds() error {
	for _, name := range []struct {
		what, is string
		most     int
	}{{"queue", p.Queue, MaxName}, {"klass", p.Klass, MaxName}, {"jid", p.JID, MaxJID}} {
		if err := checkName(name.what, name.is, name.most); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		what        string
		names       []string
		most, bytes int
	}{
		{"tag", p.Tags, MaxTags, MaxName}, {"throttle", p.Throttles, MaxThrottles, MaxName}, {"dependency", p.Depends, MaxDepends, MaxJID},
		{"window", p.Wants.Windows, MaxThrottles, MaxName},
	} {
		if err := checkNames(list.what, list.names, list.most, list.bytes); err != nil {
			return err
		}
	}
	return nil
}

// commands is about how many commands of Redis the lists of a put cost.
func (p *Put) commands() int { return 2*len(p.Tags) + 3*len(p.Depends) + len(p.Throttles) }

// putCommands is how many the puts of one call may cost, unless it is one job.
const putCommands = 10000

func plural(what string) string {
	if what == "dependency" {
		return "dependencies"
	}
	return what + "s"
}
