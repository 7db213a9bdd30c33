package admin

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/bounds"
)

const (
	lanePage   = 1000        // entries of a lane that are read at once
	secondLook = time.Second // after which a job is looked at again that the next take would have put right
)

// lane is the list of those of a key that stand behind others.
type lane struct{ queue, key string }

// laneNamed reads what follows the first words of the name of a lane.
func laneNamed(name string) (l lane, ok bool) {
	length, rest, _ := strings.Cut(name, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n >= len(rest) || rest[n] != ':' {
		return lane{}, false
	}
	return lane{rest[:n], rest[n+1:]}, true
}

// of is the name of the lane, the namespace left out.
func (l lane) of() string { return fmt.Sprintf("oarlock:lane:%d:%s:%s", len(l.queue), l.queue, l.key) }

// place is where a job stands that is behind others: the number of the call in which it came, and one within that.
type place struct{ call, index int64 }

// stray is a job that says it stands in a lane, and was not seen there.
type stray struct{ jid, entry string }

func (s stray) place() place {
	var p place
	fmt.Sscanf(s.entry, "%d.%d ", &p.call, &p.index)
	return p
}

// turns is what a look at the keys learns of those that order jobs.
type turns struct {
	seed    maphash.Seed
	entries map[uint64]struct{} // of all lanes, as hashes of the lane and the entry
	astray  map[lane][]stray
	mended  map[lane]struct{} // or would be, by one of its jobs
	added   map[string]int    // queue: entries that its lanes would have more
	odd     map[string][]any  // queue: keys of lanes of which something was said
	seated  map[seat][]string // jids that may stand where they should not
}

// seat is a set of a queue.
type seat struct{ queue, part string }

func newTurns() turns {
	return turns{maphash.MakeSeed(), map[uint64]struct{}{}, map[lane][]stray{}, map[lane]struct{}{}, map[string]int{}, map[string][]any{}, map[seat][]string{}}
}

// readLanes reads all lanes. Jobs are looked at later, so those that stood behind by then and do still are known.
func (k *keys) readLanes() error {
	return k.each("oarlock:lane:*", "list", func(names []string) error {
		pipe := k.node.Pipeline()
		for _, name := range names {
			pipe.LRange(k.ctx, k.ns+"oarlock:lane:"+name, -lanePage, -1)
		}
		pages, err := pipe.Exec(k.ctx)
		if readable(err) != nil {
			return err
		}
		for i, name := range names {
			l, ok := laneNamed(name)
			if !ok {
				continue
			}
			note := func(entries []string) bool {
				for _, entry := range entries {
					k.turns.entries[k.hash(l, entry)] = struct{}{}
				}
				return true
			}
			page := pages[i].(*redis.StringSliceCmd).Val()
			if note(page); len(page) < lanePage {
				continue
			}
			if err := k.walk(l, lanePage, note); err != nil {
				return err
			}
		}
		return nil
	})
}

// walk reads a lane from its end, but for the last ones, until use returns false. So those that leave at the front meanwhile do
// not make it miss any.
func (k *keys) walk(l lane, but int64, use func(entries []string) bool) error {
	for at := but; ; at += lanePage {
		page, err := k.node.LRange(k.ctx, k.ns+l.of(), -at-lanePage, -at-1).Result()
		if err != nil {
			return readable(err)
		}
		if !use(page) || len(page) < lanePage {
			return nil
		}
	}
}

func (k *keys) hash(l lane, entry string) uint64 {
	return maphash.String(k.turns.seed, l.of()+"\n"+entry)
}

// marked reads the mark of a job: which lane it names, and the word in it.
func marked(mark string) (l lane, word string, ok bool) {
	if mark == "" {
		return lane{}, "", false
	}
	length, rest, _ := strings.Cut(mark[1:], ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n >= len(rest) || rest[n] != ':' {
		return lane{}, "", false
	}
	word, key, ok := strings.Cut(rest[n+1:], " ")
	return lane{rest[:n], key}, word, ok
}

// stands looks whether a job that says so is in its lane.
func (k *keys) stands(jid, mark string) {
	l, word, ok := marked(mark)
	if !ok {
		return
	}
	s := stray{jid, word + " " + jid}
	if _, seen := k.turns.entries[k.hash(l, s.entry)]; !seen {
		k.turns.astray[l] = append(k.turns.astray[l], s)
	}
}

// turn looks at a job that says it has the turn of its key, which is not so.
func (k *keys) turn(jid, mark string) error {
	l, _, ok := marked(mark)
	if !ok {
		return nil
	}
	before := k.account.Wrong
	err := k.ask(turnScript, "", " ", []any{k.ns, k.now, k.flag(), l.queue, l.key}, []string{jid})
	if k.account.Wrong > before {
		k.turns.mended[l] = struct{}{}
	}
	return err
}

// strays looks again for the jobs that were not in their lanes, which may have come there since, or have gone. What is in
// none comes back at its place.
func (k *keys) strays() error {
	lanes := slices.SortedFunc(maps.Keys(k.turns.astray), func(a, b lane) int { return cmp.Compare(a.of(), b.of()) })
	for _, l := range lanes {
		some := k.turns.astray[l]
		missing := make(map[string]stray, len(some))
		for _, s := range some {
			missing[s.entry] = s
		}
		err := k.walk(l, 0, func(entries []string) bool {
			for _, entry := range entries {
				delete(missing, entry)
			}
			return len(missing) > 0
		})
		if err != nil {
			return err
		}
		some = slices.SortedFunc(maps.Values(missing), func(a, b stray) int {
			p, q := a.place(), b.place()
			return cmp.Or(cmp.Compare(p.call, q.call), cmp.Compare(p.index, q.index))
		})
		for part := range slices.Chunk(some, batch) {
			jids, before := make([]string, len(part)), k.account.Wrong
			for i, s := range part {
				jids[i] = s.jid
			}
			if err := k.ask(behindScript, "", " ", []any{k.ns, k.now, k.flag(), l.queue, l.key}, jids); err != nil {
				return err
			}
			if n := k.account.Wrong - before; n > 0 {
				k.turns.mended[l] = struct{}{}
				if !k.mend {
					k.turns.added[l.queue] += n
				}
			}
		}
	}
	return nil
}

// laneKeys looks for lanes that nobody would come upon, and for counts of those behind that are not so.
func (k *keys) laneKeys() error {
	counts := map[string]int{}
	err := k.each("oarlock:lane:*", "list", func(names []string) error {
		byQueue := map[string][]string{}
		for _, name := range names {
			l, ok := laneNamed(name)
			if !ok {
				continue
			}
			n, err := k.node.LLen(k.ctx, k.ns+l.of()).Result()
			if err != nil {
				return readable(err)
			}
			counts[l.queue] += int(n)
			if _, said := k.turns.mended[l]; said {
				k.turns.odd[l.queue] = append(k.turns.odd[l.queue], l.key)
				continue
			}
			byQueue[l.queue] = append(byQueue[l.queue], l.key)
		}
		for _, queue := range slices.Sorted(maps.Keys(byQueue)) {
			before := k.account.Wrong
			if err := k.ask(lanesScript, "key ", " of queue "+queue+" ", []any{k.ns, k.now, k.flag(), queue}, byQueue[queue]); err != nil {
				return err
			}
			if k.account.Wrong > before {
				for _, key := range byQueue[queue] {
					k.turns.odd[queue] = append(k.turns.odd[queue], key)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return k.counted(counts)
}

// counted compares how many stand behind others in the lanes of each queue with what is counted of it.
func (k *keys) counted(counts map[string]int) error {
	said, err := k.node.HGetAll(k.ctx, k.ns+"oarlock:behind").Result()
	if err != nil {
		return readable(err)
	}
	for queue := range said {
		counts[queue] += 0
	}
	for queue := range k.turns.added {
		counts[queue] += 0
	}
	for _, queue := range slices.Sorted(maps.Keys(counts)) {
		n, added := counts[queue], k.turns.added[queue]
		if said[queue] == strconv.Itoa(n+added) || n+added == 0 && said[queue] == "" {
			continue
		}
		args := append([]any{k.ns, k.flag(), queue, added}, k.turns.odd[queue]...)
		answers, err := k.run(countedScript, args, nil)
		if err != nil {
			return err
		}
		if len(answers) == 2 {
			k.tell(fmt.Sprintf("%soarlock:behind counts %q jobs of queue %s that stand behind others of their keys, and there are %s", k.ns, answers[0], queue, answers[1]), "it counts them anew")
		}
	}
	return nil
}

// ghosts looks for turns that are kept for ever for an attempt that is over: their keys would stand still.
func (k *keys) ghosts() error {
	lock, _ := bounds.Of("heartbeat")
	return k.each("oarlock:turns:*", "hash", func(names []string) error {
		for _, queue := range names {
			for cursor := "0"; ; {
				answers, err := k.run(ghostsScript, []any{k.ns, k.now, k.flag(), lock.Most, queue, cursor}, nil)
				if err != nil || len(answers) == 0 {
					return readable(err)
				}
				for answer := range slices.Chunk(answers[1:], 3) {
					k.tell("key "+answer[0]+" of queue "+queue+" "+answer[1], answer[2])
				}
				if cursor = answers[0]; cursor == "0" {
					break
				}
			}
		}
		return nil
	})
}

// orders looks for queues of which jobs are ordered by key, and of which Redis does not say so, or says what cannot be read: nobody would look after
// their keys, or not as somebody meant it.
func (k *keys) orders() error {
	said, err := k.node.HKeys(k.ctx, k.ns+"oarlock:rules").Result()
	if err != nil {
		return readable(err)
	}
	names := slices.Clone(k.queues)
	for _, field := range said {
		if queue, ok := strings.CutPrefix(field, "o:"); ok {
			names = append(names, queue)
		}
	}
	for _, pattern := range []string{"oarlock:turns:*", "oarlock:lanes:*"} {
		kind := map[string]string{"oarlock:turns:*": "hash", "oarlock:lanes:*": "zset"}[pattern]
		err := k.each(pattern, kind, func(some []string) error {
			names = append(names, some...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(names)
	for some := range slices.Chunk(slices.Compact(names), batch) {
		if err := k.ask(orderedScript, "queue ", " ", []any{k.ns, k.flag()}, some); err != nil {
			return err
		}
	}
	return nil
}

// seatsOf notes who of some members of a set of a queue does not belong there, by its key.
func (k *keys) seatsOf(s seat, jids []string) error {
	if s.part != "work" && s.part != "scheduled" {
		return nil
	}
	answers, err := k.run(seatsScript, []any{k.ns, k.now, "0", s.queue, s.part}, jids)
	for answer := range slices.Chunk(answers, 3) {
		if answer[2] != "" { // else it cannot be read, as has been told
			k.turns.seated[s] = append(k.turns.seated[s], answer[0])
		}
	}
	return err
}

// seats looks again, a moment later, at those who did not belong where they were: what a client that knows no keys has put past
// others is taken back by the next take of ours.
func (k *keys) seats() error {
	if len(k.turns.seated) == 0 {
		return nil
	}
	select {
	case <-time.After(secondLook):
	case <-k.ctx.Done():
		return k.ctx.Err()
	}
	seats := slices.SortedFunc(maps.Keys(k.turns.seated), func(a, b seat) int { return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.part, b.part)) })
	for _, s := range seats {
		jids := k.turns.seated[s]
		for some := range slices.Chunk(jids, batch) {
			if err := k.ask(seatsScript, "", " ", []any{k.ns, k.now, k.flag(), s.queue, s.part}, some); err != nil {
				return err
			}
		}
	}
	return nil
}
