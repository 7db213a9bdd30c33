package queue

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// heldPage is how many entries in work are read at a time.
const heldPage = 500

// Held lists the entries that are in work for the session's worker. Minus what the caller has in flight, that is
// what a take in doubt has taken, or a dead worker of that name had. It fences first.
func (s *ListSession) Held(ctx context.Context, _ []string, _ ...RenewItem) ([]Taken, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	ours := map[string]string{} // stamps by entry
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		page, next, err := s.client.redis.HScan(ctx, s.keys.progress, cursor, "", heldPage).Result()
		if err = harmless(classify("hscan", err)); err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(page); i += 2 {
			if strings.HasSuffix(page[i+1], s.tag+`Z"`) {
				ours[page[i]] = page[i+1]
			}
		}
		cursor = next
	}
	if len(ours) == 0 {
		return nil, nil
	}
	kept, err := s.keptOf(ctx, ours)
	if err != nil {
		return nil, err
	}
	jobs, broken := s.recover(ours, kept)
	s.setAside(ctx, broken)
	return jobs, nil
}

// recover makes jobs of entries that are in work for us: those that are known as they were taken, the others anew.
func (s *ListSession) recover(ours, kept map[string]string) (jobs []Taken, broken []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]*heldEntry, len(s.held))
	for _, h := range s.held {
		known[h.entry] = h
	}
	for _, entry := range slices.SortedFunc(maps.Keys(ours), func(a, b string) int { return cmp.Or(cmp.Compare(ours[a], ours[b]), cmp.Compare(a, b)) }) {
		stamp := ours[entry]
		since, _, _ := readStamp(stamp) // it ends in our tag
		if h := known[entry]; h != nil {
			jobs = append(jobs, Taken{JID: h.jid, Queue: s.list.Name, Popped: h.popped, Expires: s.expires(since)})
			continue
		}
		job, err := s.adopt(entry, readListKept(kept[entry]), since, 0)
		if err != nil {
			broken = append(broken, entry)
			continue
		}
		job.Expires = s.expires(since)
		jobs = append(jobs, job)
	}
	return jobs, broken
}

// keptOf reads what is kept with entries.
func (s *ListSession) keptOf(ctx context.Context, entries map[string]string) (map[string]string, error) {
	kept, names := map[string]string{}, make([]string, 0, len(entries))
	for entry := range entries {
		names = append(names, entry)
	}
	values, err := s.client.redis.HMGet(ctx, s.keys.tries, names...).Result()
	if err = harmless(classify("hmget", err)); err != nil {
		return nil, err
	}
	for i, value := range values {
		if text, is := value.(string); is {
			kept[names[i]] = text
		}
	}
	return kept, nil
}

// Resolve is that of Session: an entry that is in work for us still was not settled.
func (s *ListSession) Resolve(ctx context.Context, settlements []Settlement) ([]Resolution, error) {
	if err := s.Fence(ctx); err != nil {
		return nil, err
	}
	resolutions := make([]Resolution, len(settlements))
	var asked []int
	var entries []string
	s.mu.Lock()
	for i := range settlements {
		resolutions[i] = Took
		if h := s.held[settlements[i].JID]; h != nil && (settlements[i].Popped == 0 || h.popped == settlements[i].Popped) {
			asked, entries = append(asked, i), append(entries, h.entry)
		}
	}
	s.mu.Unlock()
	if len(asked) == 0 {
		return resolutions, nil
	}
	values, err := s.client.redis.HMGet(ctx, s.keys.progress, entries...).Result()
	if err = harmless(classify("hmget", err)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, i := range asked {
		stamp, in := values[n].(string)
		if in && (!s.list.Heartbeat || strings.HasSuffix(stamp, s.tag+`Z"`)) {
			resolutions[i] = NotRun
			continue
		}
		delete(s.held, settlements[i].JID)
	}
	return resolutions, nil
}
