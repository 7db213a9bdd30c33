// Package admin is what the tools of an administrator do with the Redis behind a client, beside
// its jobs: look for keys that contradict each other and mend them, read what the server tells of
// itself, count what is kept, and for a bench erase, disturb and measure.
//
// It owns the scripts that look at keys. Its errors are the driver's, not classified. It knows
// nothing of supervisors, and says nothing to people: that is for whoever calls.
package admin

import (
	"context"
	"strings"
	"time"

	"oarlock/queue"
)

// Facts is what INFO says in the sections named, by name. With an error it is what those before
// said.
func Facts(ctx context.Context, client *queue.Client, sections ...string) (map[string]string, error) {
	facts := map[string]string{}
	node, err := serverOf(ctx, client)
	if err != nil {
		return facts, err
	}
	for _, section := range sections {
		text, err := node.Info(ctx, section).Result()
		if err != nil {
			return facts, err
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				facts[name] = value
			}
		}
	}
	return facts, nil
}

// Setting is a setting of the server itself, "" if it has none of that name.
func Setting(ctx context.Context, client *queue.Client, name string) (string, error) {
	node, err := serverOf(ctx, client)
	if err != nil {
		return "", err
	}
	settings, err := node.ConfigGet(ctx, name).Result()
	return settings[name], err
}

// Slow is a command that took its time.
type Slow struct {
	Words []string
	At    time.Time // in whole seconds, on the server's clock
	Took  time.Duration
}

// SlowLog lists the slow commands that the server remembers, at most so many, the latest first.
func SlowLog(ctx context.Context, client *queue.Client, most int) ([]Slow, error) {
	node, err := serverOf(ctx, client)
	if err != nil {
		return nil, err
	}
	entries, err := node.SlowLogGet(ctx, int64(most)).Result()
	all := make([]Slow, len(entries))
	for i, entry := range entries {
		all[i] = Slow{Words: entry.Args, At: entry.Time, Took: entry.Duration}
	}
	return all, err
}

// Permissions is what our user may do that is not needed all the time. The rest shows by itself.
type Permissions struct {
	User  string // "" if the server does not tell
	Fence bool   // end a connection whose last call had no answer
	Wake  bool   // wake supervisors
}

// Try finds out what our user may do, in ways that do nothing.
func Try(ctx context.Context, client *queue.Client) (Permissions, error) {
	node, err := serverOf(ctx, client)
	if err != nil {
		return Permissions{}, err
	}
	var may Permissions
	may.User, _ = node.Do(ctx, "ACL", "WHOAMI").Text() // before Redis 6 there are no users
	permitted := func(words ...any) bool {
		err := node.Do(ctx, words...).Err()
		return err == nil || !strings.HasPrefix(err.Error(), "NOPERM")
	}
	may.Fence = permitted("CLIENT", "KILL", "ID", "0")
	may.Wake = permitted("PUBLISH", client.WakeChannel(), "")
	return may, nil
}

// CutConnections ends all connections of all clients, ours too.
func CutConnections(ctx context.Context, client *queue.Client) error {
	return client.Redis().Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no").Err()
}

// Freeze lets the server answer nobody for so long.
func Freeze(ctx context.Context, client *queue.Client, d time.Duration) error {
	return client.Redis().Do(ctx, "CLIENT", "PAUSE", d.Milliseconds(), "ALL").Err()
}
