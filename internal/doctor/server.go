package doctor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/queue"
	"oarlock/queue/admin"
	"oarlock/supervisor"
)

// Server looks at the settings of Redis and at how it is doing.
func (d *Doctor) Server(ctx context.Context) error {
	facts, err := d.facts(ctx)
	if err != nil {
		return err
	}
	d.version(facts)
	d.role(facts)
	d.persistence(facts)
	d.memory(facts)
	d.clients(facts)
	for _, look := range []func(context.Context) error{d.writes, d.completed, d.clock, d.scripts, d.notifications, d.permissions} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// facts is what the server tells of itself, by name. What it does not tell is left out.
func (d *Doctor) facts(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, section := range []string{"server", "replication", "persistence", "memory", "clients"} {
		some, err := admin.Facts(ctx, d.Client, section)
		if err != nil {
			return all, d.hidden("info", err) // whom it tells nothing of one section it tells nothing of the others
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// oldestRedis is the first version that has everything we call.
const oldestRedis = 6

func (d *Doctor) version(facts map[string]string) {
	text := facts["redis_version"]
	major, err := strconv.Atoi(strings.Split(text, ".")[0])
	switch {
	case err != nil:
		d.found(Note, "version", "", "The server does not tell its version.")
	case major < oldestRedis:
		d.found(Bad, "version", "Use Redis 6 or newer.", "Redis %s is too old.", text)
	default:
		d.found(OK, "version", "", "Redis %s", text)
	}
}

func (d *Doctor) role(facts map[string]string) {
	switch {
	case facts["role"] == "slave":
		d.found(Bad, "role", "Name the master, or use redis+sentinel://.", "This server is a replica: nothing can be written to it.")
	case facts["loading"] == "1":
		d.found(Warning, "role", "Wait until it has.", "The server is still reading its data.")
	}
}

// writes asks whether Redis takes any.
func (d *Doctor) writes(ctx context.Context) error {
	advice := map[queue.ErrorClass]string{
		queue.ReadOnly: "Name the master, or use redis+sentinel://.",
		queue.Disk:     "Look for a full disk, or for the replicas that min-replicas-to-write asks for.",
		queue.Memory:   "Raise maxmemory, or make room: oarlock queue purge QUEUE.",
	}
	err := d.Client.Writable(ctx)
	switch what, refused := advice[queue.Class(err)]; {
	case refused && queue.Class(err) == queue.Memory:
		d.found(Bad, "writes", what, "Redis is out of memory, so %s: %v", supervisor.RedisMeans("is out of memory"), err)
	case refused:
		d.found(Bad, "writes", what, "Redis takes no writes, so no job can be put or taken: %v", err)
	case err != nil:
		return err
	}
	return nil
}

func (d *Doctor) persistence(facts map[string]string) {
	const subject = "persistence"
	switch {
	case facts["aof_enabled"] == "":
	case facts["aof_last_write_status"] == "err":
		d.found(Bad, subject, "Look for a full disk.", "The last write of the append-only file failed.")
	case facts["aof_enabled"] == "0":
		d.found(Warning, subject, "appendonly yes", "The append-only file is off: what was put since the last snapshot is lost when Redis dies.")
	default:
		d.found(OK, subject, "", "The append-only file is on.")
	}
	if facts["rdb_last_bgsave_status"] == "err" {
		d.found(Bad, subject, "Look for a full disk, or too little memory to fork.", "The last snapshot failed; Redis may refuse writes because of that.")
	}
}

// fullShare is the share of what is allowed above which there is little room left.
const fullShare = 0.8

func (d *Doctor) memory(facts map[string]string) {
	for _, f := range Memory(facts) {
		d.Report(f)
	}
}

// Memory is what the section memory of INFO means for jobs: whether Redis throws them away when it is full, and whether it soon is.
func Memory(facts map[string]string) (found []Finding) {
	d := Doctor{Report: func(f Finding) { found = append(found, f) }}
	used, _ := strconv.ParseFloat(facts["used_memory"], 64)
	most, _ := strconv.ParseFloat(facts["maxmemory"], 64) // 0: no limit
	policy := facts["maxmemory_policy"]
	switch {
	case policy == "":
	case policy != "noeviction" && most > 0:
		d.found(Bad, "eviction", "maxmemory-policy noeviction", "With maxmemory-policy %s Redis throws jobs away when memory runs out.", policy)
	case policy != "noeviction":
		d.found(Warning, "eviction", "maxmemory-policy noeviction", "With maxmemory-policy %s, jobs would be thrown away as soon as somebody sets maxmemory.", policy)
	default:
		d.found(OK, "eviction", "", "Nothing is evicted.")
	}
	switch {
	case used == 0:
	case most > 0 && used > fullShare*most:
		d.found(Warning, "memory", "Raise maxmemory, or keep fewer completed jobs: oarlock config set jobs-history-count N.",
			"%s of %s are in use; when it is full no job can be put.", humanize.IBytes(uint64(used)), humanize.IBytes(uint64(most)))
	default:
		d.found(OK, "memory", "", "%s are in use.", humanize.IBytes(uint64(used)))
	}
	return found
}

func (d *Doctor) clients(facts map[string]string) {
	now, _ := strconv.ParseFloat(facts["connected_clients"], 64)
	most, _ := strconv.ParseFloat(facts["maxclients"], 64)
	if most > 0 && now > fullShare*most {
		d.found(Warning, "clients", "Raise maxclients.", "%.0f of %.0f connections are in use.", now, most)
	}
}

const (
	clockApart = time.Second           // more than that puzzles people who read logs
	slowTrip   = 20 * time.Millisecond // a round trip that holds up small jobs
)

func (d *Doctor) clock(ctx context.Context) error {
	var trips []time.Duration
	for range 5 {
		began := time.Now()
		if err := d.Client.Ping(ctx); err != nil {
			return err
		}
		trips = append(trips, time.Since(began))
	}
	trip, offset := slices.Min(trips), d.Client.Clock().Offset()
	if offset.Abs() > clockApart {
		d.found(Warning, "clock", "Let both hosts take their time from NTP.",
			"Redis' clock and ours are %v apart. Locks and recurring jobs go by its clock, wherever we run; logs do not.", offset.Round(time.Millisecond))
	} else {
		d.found(OK, "clock", "", "The clocks are %v apart.", offset.Round(time.Millisecond))
	}
	if trip > slowTrip {
		d.found(Warning, "round trip", "Run closer to Redis, or work small jobs in mode reuse, which keeps some ready, or a number of them as prefetch.", "A round trip takes %v at best.", trip.Round(time.Microsecond))
	} else {
		d.found(OK, "round trip", "", "%v", trip.Round(time.Microsecond))
	}
	return nil
}

// slowScript is what no script of ours should take, by far, and slowEntries is how many commands are looked at, the latest.
const (
	slowScript  = 50 * time.Millisecond
	slowEntries = 128
)

func (d *Doctor) scripts(ctx context.Context) error {
	entries, err := admin.SlowLog(ctx, d.Client, slowEntries)
	if err != nil {
		return d.hidden("slow log", err)
	}
	slow, worst := 0, admin.Slow{}
	for _, entry := range entries {
		if entry.Took > slowScript {
			slow++
		}
		if entry.Took > worst.Took {
			worst = entry
		}
	}
	if slow == 0 {
		d.found(OK, "slow log", "", "Nothing took longer than %v lately.", slowScript)
		return nil
	}
	what := "?"
	if len(worst.Words) > 0 {
		what = strings.Join(worst.Words[:min(len(worst.Words), 4)], " ")
	}
	d.found(Warning, "slow log", "Everybody waits while Redis is busy: see SLOWLOG GET.",
		"%d commands took longer than %v lately; the worst took %v: %s", slow, slowScript, worst.Took, what)
	return nil
}

func (d *Doctor) notifications(ctx context.Context) error {
	classes, err := admin.Setting(ctx, d.Client, "notify-keyspace-events")
	if err != nil {
		return d.hidden("notifications", err)
	}
	if strings.Contains(classes, "K") && (strings.Contains(classes, "z") || strings.Contains(classes, "A")) {
		d.found(OK, "notifications", "", "What other clients put is noticed at once.")
	} else {
		d.found(Note, "notifications", "notify-keyspace-events Kz",
			"What clients other than ours put is found by polling (poll_interval), not at once.")
	}
	seconds, err := admin.Setting(ctx, d.Client, "timeout")
	if err != nil {
		return d.hidden("notifications", err)
	}
	if seconds != "" && seconds != "0" {
		d.found(Note, "timeout", "timeout 0", "Redis closes connections that are idle for %s seconds; each costs a reconnect.", seconds)
	}
	return nil
}

// permissions tries what is not needed all the time, in ways that do nothing.
func (d *Doctor) permissions(ctx context.Context) error {
	may, err := admin.Try(ctx, d.Client)
	if err != nil {
		return err
	}
	who := cmp.Or(may.User, "our user")
	if _, _, err := d.Client.Outlook(ctx, []string{"oarlock-doctor"}); err != nil {
		if queue.Class(err) == queue.Denied { // a script, or a command within it, which each version of Redis words as it likes
			d.found(Bad, "permissions", "See queue/ACL.md.", "%s may not run our scripts, or not all that is in them: %v", who, err)
			return nil
		}
		return err
	}
	if !may.Fence {
		d.found(Warning, "permissions", "See queue/ACL.md.", "%s cannot fence a connection whose last call had no answer; a job it took may wait for the next audit.", who)
	}
	if !may.Wake {
		d.found(Warning, "permissions", "See queue/ACL.md.", "%s cannot wake supervisors; jobs are found by polling.", who)
	}
	if may.Fence && may.Wake {
		d.found(OK, "permissions", "", "%s may do what is needed.", who)
	}
	return nil
}
