package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// batch is how many jobs are looked at in one call, which keeps Redis busy for some
// hundred microseconds.
const batch = 200

// parts are the sets that each queue has.
var parts = []string{"work", "locks", "scheduled", "depends", "throttled", "recur"}

// Contradiction is something that two keys say differently, or that no key should say.
type Contradiction struct {
	Text   string // what is wrong, in words
	Remedy string // what mends it; "" if nothing does, but a person
	Mended bool
	Shared bool // a job or a throttle has a key of another
	Alone  bool // of one that is shared: there is no such other
	Type   bool // a key is of another type than every program takes it for
}

// Account sums up a look at the keys.
type Account struct {
	Jobs    int            // that were looked at
	Wrong   int            // contradictions
	Beyond  []Beyond       // jobs with more than a put may give them
	Expired map[string]int // locks that ran out and that nobody has taken back, by queue; only where there are any
}

// Keys looks for jobs that are not where they say they are, or in two places, for places that
// name jobs which are not there, for throttles held by jobs that do not run, and for keys whose turns and lanes say
// something else than their jobs; with mend it repairs that. Each contradiction is reported once. In a sound key space it changes nothing.
func Keys(ctx context.Context, client *queue.Client, mend bool, report func(Contradiction)) (Account, error) {
	s, err := newScan(ctx, client)
	if err != nil {
		return Account{}, err
	}
	k := &keys{
		scan: s, client: client, mend: mend, report: report, now: strconv.FormatFloat(client.Now(), 'f', -1, 64),
		listed: make(map[string]struct{}), said: make(map[string]struct{}), turns: newTurns(), account: Account{Expired: make(map[string]int)},
	}
	err = k.look()
	return k.account, err
}

// keys is one look at the keys. Each entry is looked at, and repaired, in one step, so that
// what moves at the moment is no finding: a job that is missing at the first look is looked for
// everywhere at the second, which alone repairs.
type keys struct {
	scan
	client  *queue.Client
	mend    bool
	report  func(Contradiction)
	now     string
	queues  []string            // that have a key, known ones or not
	listed  map[string]struct{} // jobs in the lists of failed ones
	said    map[string]struct{} // scans may show a thing twice
	turns   turns
	account Account
}

// look looks at the places first, so that a job which is only in a wrong one is found
// missing then.
func (k *keys) look() error {
	if err := k.types(); err != nil {
		return err
	}
	if err := k.places(); err != nil {
		return err
	}
	if err := k.failed(); err != nil {
		return err
	}
	if err := k.throttles(); err != nil {
		return err
	}
	for _, part := range []func() error{k.orders, k.ghosts, k.readLanes, k.allJobs, k.strays, k.laneKeys, k.seats} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := k.each("r:*", "hash", func(jids []string) error { return k.beyond("r:", jids) }); err != nil {
		return err
	}
	return k.expired()
}

func (k *keys) allJobs() error {
	return k.each("j:*", "hash", func(jids []string) error {
		k.account.Jobs += len(jids)
		if err := k.shared(jids); err != nil {
			return err
		}
		if err := k.beyond("j:", jids); err != nil {
			return err
		}
		if err := k.ask(runsScript, "", " ", []any{k.ns, k.now, k.flag()}, jids); err != nil {
			return err
		}
		return k.jobs(jids)
	})
}

// shared looks for jobs whose jid is the key of another.
func (k *keys) shared(jids []string) error {
	jids = slices.DeleteFunc(slices.Clone(jids), func(jid string) bool { return queue.CheckJID(jid) == nil })
	if len(jids) == 0 {
		return nil
	}
	answers, err := k.run(sharedScript, []any{k.ns, k.flag()}, jids)
	if err != nil {
		return err
	}
	for answer := range slices.Chunk(answers, 4) {
		k.found(Contradiction{Text: "job " + answer[0] + " " + answer[1], Remedy: answer[2], Shared: true, Alone: answer[3] == "1"})
	}
	return nil
}

// sharedThrottles looks for limits whose name is the key of another throttle.
func (k *keys) sharedThrottles() error {
	return k.each("th:*", "hash", func(ids []string) error {
		for _, id := range ids {
			if shared, is := errors.AsType[*queue.SharedKeyError](queue.CheckThrottle(id)); is {
				k.found(Contradiction{Text: fmt.Sprintf("the limit of throttle %s has the key of %s of throttle %s", id, shared.Holds, shared.Other), Shared: true})
			}
		}
		return nil
	})
}

// places looks at the sets of all queues and of the completed jobs.
func (k *keys) places() error {
	var all []seat
	err := k.each("q:*", "zset", func(names []string) error {
		for _, name := range names {
			if i := strings.LastIndexByte(name, '-'); i >= 0 && slices.Contains(parts, name[i+1:]) {
				all = append(all, seat{name[:i], name[i+1:]})
				k.queues = append(k.queues, name[:i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(k.queues)
	k.queues = slices.Compact(k.queues)
	for _, p := range append(all, seat{"", "completed"}) {
		key := k.ns + "completed"
		if p.part != "completed" {
			key = k.ns + "q:" + p.queue + "-" + p.part
		}
		err := k.members(key, func(jids []string) error {
			if err := k.ask(membersScript, key+" names ", ", but ", []any{k.ns, key, p.part, p.queue, k.flag()}, jids); err != nil {
				return err
			}
			return k.seatsOf(p, jids)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// failed looks at the lists of failed jobs, and keeps in mind who is in them.
func (k *keys) failed() error {
	groups, err := k.client.FailedGroups(k.ctx)
	if err != nil {
		return readable(err)
	}
	for group, n := range groups {
		if n < 0 {
			continue // no list, as types has told
		}
		key := k.ns + "f:" + group
		var jids []string
		for {
			some, err := k.node.LRange(k.ctx, key, int64(len(jids)), int64(len(jids)+5*batch-1)).Result()
			if err != nil {
				return err
			}
			if len(some) == 0 {
				break
			}
			jids = append(jids, some...)
		}
		for some := range slices.Chunk(jids, batch) {
			if err := k.ask(membersScript, key+" names ", ", but ", []any{k.ns, key, "failed", "", k.flag()}, some); err != nil {
				return err
			}
		}
		for _, jid := range jids {
			k.listed[jid] = struct{}{}
		}
	}
	return nil
}

// throttles looks for holders that do not run, and lets those in line on.
func (k *keys) throttles() error {
	if err := k.sharedThrottles(); err != nil {
		return err
	}
	var held []string
	err := k.each("th:*", "zset", func(names []string) error {
		for _, name := range names {
			if tid, ok := strings.CutSuffix(name, "-locks"); ok {
				held = append(held, tid)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, tid := range held {
		key, before := k.ns+"th:"+tid+"-locks", k.account.Wrong
		err := k.members(key, func(jids []string) error {
			return k.ask(holdersScript, "throttle "+tid+" is held by ", ", but ", []any{k.ns, key, k.flag(), k.now}, jids)
		})
		if err != nil {
			return err
		}
		if k.mend && k.account.Wrong > before {
			if err := readable(k.letOn(tid)); err != nil {
				return err
			}
		}
	}
	return nil
}

// letOn does what the release of a throttle does for those in line, for a job that is none.
func (k *keys) letOn(tid string) error {
	return k.client.ReleaseThrottle(k.ctx, tid, queue.NewJID())
}

// jobs looks for jobs that are in none of their places: first where they say they are, and
// those that are not there then everywhere.
func (k *keys) jobs(jids []string) error {
	answers, err := k.run(jobsScript, []any{k.ns, k.now, "0", 0}, jids)
	if err != nil {
		return err
	}
	var missing []string
	for answer := range slices.Chunk(answers, 3) {
		jid, what := answer[0], answer[1]
		switch what {
		case "depends":
			err = k.dependencies(jid)
		case "behind":
			k.stands(jid, answer[2])
		case "turn":
			err = k.turn(jid, answer[2])
		case "failed":
			if _, listed := k.listed[jid]; !listed {
				err = k.ask(listedScript, "", " ", []any{k.ns, answer[2], k.flag()}, []string{jid})
			}
		default:
			missing = append(missing, jid)
		}
		if err != nil {
			return err
		}
	}
	args := []any{k.ns, k.now, k.flag(), len(k.queues)}
	for _, name := range k.queues {
		args = append(args, name)
	}
	for some := range slices.Chunk(missing, max(1, batch/(1+len(k.queues)))) {
		if err := k.ask(jobsScript, "", " ", args, some); err != nil {
			return err
		}
	}
	return nil
}

// dependencies looks at what a job waits for.
func (k *keys) dependencies(jid string) error {
	args := []any{k.ns, k.now, k.flag(), jid}
	none := true
	for cursor := uint64(0); ; {
		on, next, err := k.node.SScan(k.ctx, k.ns+"j:"+jid+"-dependencies", cursor, "", batch).Result()
		if err != nil {
			return readable(err)
		}
		for some := range slices.Chunk(on, batch) {
			none = false
			if err := k.ask(dependenciesScript, "", " ", args, some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if none {
		return k.ask(dependenciesScript, "", " ", args, nil)
	}
	return nil
}

// expired looks for locks that ran out and that nobody has taken back.
func (k *keys) expired() error {
	for _, name := range k.queues {
		n, err := k.node.ZCount(k.ctx, k.ns+"q:"+name+"-locks", "-inf", k.now).Result()
		if readable(err) != nil {
			return err
		}
		if n > 0 {
			k.account.Expired[name] = int(n)
		}
	}
	return nil
}

// ask runs a script about jids and reports what it finds: before, the jid, between and the reason.
func (k *keys) ask(script *redis.Script, before, between string, args []any, jids []string) error {
	answers, err := k.run(script, args, jids)
	if err != nil {
		return err
	}
	for answer := range slices.Chunk(answers, 3) {
		switch answer[1] {
		case "depends", "failed", "behind", "turn": // it moved between two looks
			continue
		}
		k.tell(before+answer[0]+between+answer[1], answer[2])
	}
	return nil
}

// tell reports what is wrong, once, and what mends it, or did.
func (k *keys) tell(text, remedy string) { k.found(Contradiction{Text: text, Remedy: remedy}) }

// found reports something that is wrong, once.
func (k *keys) found(c Contradiction) {
	if _, twice := k.said[c.Text]; twice {
		return
	}
	k.said[c.Text] = struct{}{}
	k.account.Wrong++
	c.Mended = k.mend && c.Remedy != ""
	k.report(c)
}

func (k *keys) flag() string {
	if k.mend {
		return "1"
	}
	return "0"
}
