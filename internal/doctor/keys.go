package doctor

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

//go:embed members.lua
var membersScript string

//go:embed jobs.lua
var jobsScript string

// batch is how many jobs are looked at in one call, which keeps Redis busy for some
// hundred microseconds.
const batch = 200

// parts are the sets that each queue has.
var parts = []string{"work", "locks", "scheduled", "depends", "throttled", "recur"}

// Keys looks for jobs that are not where they say they are, or in two places, and for
// places that name jobs which are not there; with Fix it repairs that. Each job is
// looked at, and repaired, in one step: one that is moving at the moment is no finding.
func (d *Doctor) Keys(ctx context.Context) error {
	node, err := d.node(ctx)
	if err != nil {
		return err
	}
	if err := d.keys(ctx, node); err != nil {
		return d.hidden("keys", err)
	}
	return nil
}

func (d *Doctor) keys(ctx context.Context, node server) error {
	ns := d.Client.Namespace()
	seen, wrong := 0, 0
	check := func(script string, args ...any) func([]string) error {
		return func(jids []string) error {
			seen += len(jids)
			found, err := d.check(ctx, node, script, args, jids)
			wrong += found
			return err
		}
	}
	queues, err := d.Client.QueueNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range queues {
		for _, part := range parts {
			key := ns + "q:" + name + "-" + part
			if err := eachMember(ctx, node, key, check(membersScript, ns, key, part, name, d.flag())); err != nil {
				return err
			}
		}
	}
	key := ns + "completed"
	if err := eachMember(ctx, node, key, check(membersScript, ns, key, "completed", "", d.flag())); err != nil {
		return err
	}
	groups, err := d.Client.FailedGroups(ctx)
	if err != nil {
		return err
	}
	for group := range groups {
		key := ns + "f:" + group
		jids, err := node.LRange(ctx, key, 0, -1).Result()
		if err != nil {
			return err
		}
		for some := range slices.Chunk(jids, batch) {
			if err := check(membersScript, ns, key, "failed", "", d.flag())(some); err != nil {
				return err
			}
		}
	}
	seen = 0 // from here on, each job once
	now := strconv.FormatFloat(d.Client.Now(), 'f', -1, 64)
	if err := eachJob(ctx, node, ns+"j:", check(jobsScript, ns, now, d.flag())); err != nil {
		return err
	}
	if wrong == 0 {
		d.found(OK, "keys", "", "All of %d jobs are where they say they are.", seen)
	}
	return d.expired(ctx)
}

func (d *Doctor) flag() string {
	if d.Fix {
		return "1"
	}
	return "0"
}

// check runs a script about jids, and reports what it found.
func (d *Doctor) check(ctx context.Context, node server, script string, args []any, jids []string) (wrong int, err error) {
	args = slices.Clone(args)
	for _, jid := range jids {
		args = append(args, jid)
	}
	found, err := node.Eval(ctx, script, []string{d.Client.Namespace()}, args...).StringSlice()
	if err != nil {
		return 0, err
	}
	for pair := range slices.Chunk(found, 2) {
		jid, reason := pair[0], pair[1]
		text := jid + " " + reason
		if script == membersScript {
			text = args[1].(string) + " names " + jid + ", but " + reason
		}
		if d.Fix {
			d.found(Fixed, "keys", "", "%s", text)
		} else {
			d.found(Bad, "keys", "oarlock doctor --fix", "%s", text)
		}
	}
	return len(found) / 2, nil
}

// eachMember calls use with the members of a sorted set, some at a time.
func eachMember(ctx context.Context, node server, key string, use func([]string) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := node.ZScan(ctx, key, cursor, "", batch).Result()
		if err != nil {
			return err
		}
		var jids []string
		for pair := range slices.Chunk(pairs, 2) {
			jids = append(jids, pair[0])
		}
		// A small set comes in one piece, whatever was asked for.
		for some := range slices.Chunk(jids, batch) {
			if err := use(some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// eachJob calls use with the jids of all jobs, some at a time.
func eachJob(ctx context.Context, node server, prefix string, use func([]string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := node.ScanType(ctx, cursor, prefix+"*", batch, "hash").Result()
		if err != nil {
			return err
		}
		for i, key := range keys {
			keys[i] = strings.TrimPrefix(key, prefix)
		}
		if len(keys) > 0 {
			if err := use(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// expired looks for locks that ran out and that nobody has taken back.
func (d *Doctor) expired(ctx context.Context) error {
	queues, err := d.Client.Queues(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if q.Stalled > 0 {
			d.found(Warning, "locks", "Is any supervisor working this queue? The next that does takes them back.",
				"%d locks of %s have run out, and nobody has taken the jobs back.", q.Stalled, q.Name)
		}
	}
	return nil
}
