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
		if !d.isSet(at + ".retry.delay") {
			p.Retry.Delay = 0
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
		"queues": len(p.Queues) > 0, "next_queues": len(p.NextQueues) > 0, "allow": len(p.Allow) > 0,
	} {
		if set {
			d.bad(at+".list", "excludes %s: a job of a list is an entry of it, and nothing beside", key)
		}
	}
	if p.List == hworker || strings.TrimSpace(p.List) == "" {
		d.bad(at+".list", `names none; write hworker:NAME, or the key of a list`)
	}
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
		if strings.HasPrefix(c.Redis.URL, "redis+cluster:") {
			d.bad(at+".list", "cannot be worked in a cluster: its keys lie in other slots than ours")
		}
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

// listKey is the key of a list.
func listKey(list string) string {
	if name, is := strings.CutPrefix(list, hworker); is {
		return "hworker-jobs-" + name
	}
	return list
}
