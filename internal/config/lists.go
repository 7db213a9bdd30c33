package config

import (
	"maps"
	"slices"
	"strings"
)

// hworker begins the name of a list that is worked as an hworker's.
const hworker = "hworker:"

// listDefaults gives the pools of lists the defaults that are theirs: what hworker does with a job that
// fails or is to be tried again.
func (d *decoder) listDefaults(c *Config) {
	for name, p := range c.Pools {
		if p.List == "" {
			continue
		}
		at := "pools." + name
		if !d.isSet(at + ".on_error") {
			p.OnError = "fail"
		}
		c.Pools[name] = p
	}
}

// list checks what a pool says of the list that it works.
func (d *decoder) list(at string, p Pool) {
	if p.List == "" {
		usual := DefaultPool()
		for key, said := range map[string]bool{
			"list_timeout": p.ListTimeout != usual.ListTimeout, "list_heartbeat": p.ListHeartbeat != usual.ListHeartbeat,
			"list_monitor": p.ListMonitor != usual.ListMonitor, "list_failed": p.ListFailed != usual.ListFailed, "list_retries": p.ListRetries != usual.ListRetries,
		} {
			if said {
				d.bad(at+"."+key, `has a meaning with list only, such as list = "hworker:mail"`)
			}
		}
		return
	}
	for key, set := range map[string]bool{
		"queues": len(p.Queues) > 0, "retry_command": len(p.RetryCommand) > 0, "next_queues": len(p.NextQueues) > 0, "allow": len(p.Allow) > 0,
	} {
		if set {
			d.bad(at+".list", "excludes %s: a job of a list is an entry of it, and nothing beside", key)
		}
	}
	d.listName(at+".list", p.List)
	if p.ListTimeout < second {
		d.bad(at+".list_timeout", "must be 1s or more")
	}
	if p.ListFailed < 1 {
		d.bad(at+".list_failed", "must be 1 or more")
	}
	if p.ListRetries < 0 {
		d.bad(at+".list_retries", "is negative; 0 is no limit")
	}
}

// lists checks the pools of lists against each other and the place they are in.
func (d *decoder) lists(c *Config) {
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		p := c.Pools[name]
		if p.List == "" {
			continue
		}
		at := "pools." + name
		d.notInCluster(at+".list", "worked", c.Redis)
		other, twice := first[listKey(p.List)]
		if !twice {
			first[listKey(p.List)] = name
		} else if o := c.Pools[other]; o.List != p.List {
			d.bad(at+".list", "is the list that pool %s works as %q", other, o.List)
		} else if o.ListTimeout != p.ListTimeout || o.ListHeartbeat != p.ListHeartbeat {
			d.bad(at+".list", "pool %s works it with another list_timeout or list_heartbeat; all that work a list need the same", other)
		}
	}
}

// listName refuses what names no list.
func (d *decoder) listName(at, list string) {
	if list == hworker || strings.TrimSpace(list) == "" {
		d.bad(at, `names none; write hworker:NAME, or the key of a list`)
	}
}

// notInCluster refuses a list where it would lie in another slot than what belongs to it.
func (d *decoder) notInCluster(at, done string, r Redis) {
	if strings.HasPrefix(r.URL, "redis+cluster:") {
		d.bad(at, "cannot be %s where Redis is a cluster: its keys lie in other slots than ours", done)
	}
}

// intakes checks the lists whose entries become jobs.
func (d *decoder) intakes(c *Config) {
	worked, taken := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if list := c.Pools[name].List; list != "" {
			worked[listKey(list)] = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		q, at := c.Queues[name], "queues."+name
		d.intake(at, name, q)
		d.order(at, q)
		for _, list := range q.Intake {
			key := listKey(list)
			d.listName(at+".intake", list)
			d.notInCluster(at+".intake", "taken in", c.Redis)
			switch {
			case worked[key] != "":
				d.bad(at+".intake", "list %q is also worked by pool %s: an entry would go to whichever is quicker", list, worked[key])
			case taken[key] == name:
				d.bad(at+".intake", "list %q is there twice", list)
			case taken[key] != "":
				d.bad(at+".intake", "list %q is taken in by queue %s already", list, taken[key])
			default:
				taken[key] = name
			}
		}
	}
}

// intake checks what the table of a queue says of lists, each key by itself.
func (d *decoder) intake(at, name string, q Queue) {
	if strings.TrimSpace(name) == "" {
		d.bad(at, "a queue has a name")
	}
	d.choice(at+".intake_as", q.IntakeAs, Intakes)
	if q.IntakeWindow < 1 {
		d.bad(at+".intake_window", "must be 1 or more: so many jobs wait in the queue at most before entries stay in their list")
	}
	if len(q.Intake) > 0 {
		return
	}
	usual := DefaultQueue()
	for key, said := range map[string]bool{"intake_as": q.IntakeAs != usual.IntakeAs, "intake_window": q.IntakeWindow != usual.IntakeWindow} {
		if said {
			d.bad(at+"."+key, `has a meaning with intake only, such as intake = ["outbox"]`)
		}
	}
}

// listKey is the key of a list.
func listKey(list string) string {
	if name, is := strings.CutPrefix(list, hworker); is {
		return "hworker-jobs-" + name
	}
	return list
}
