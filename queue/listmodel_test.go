package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What is here plays random programs of a list that two sessions work, that is monitored and taken in, and holds each reply and all that is
// kept against a model of them.

// listState is what is kept of a list. Of lists the first is the newest.
type listState struct {
	Jobs, Failed, Reasons         []string
	Progress, Broken, Tries, Made map[string]string // Made: the data of the jobs that intake made, by jid
}

func newListState() listState {
	return listState{Progress: map[string]string{}, Broken: map[string]string{}, Tries: map[string]string{}, Made: map[string]string{}}
}

// listWorld is one program.
type listWorld struct {
	*course
	tick, made int
	want       listState
}

const (
	listFailedMost = 4 // of the failed ones that are kept
	listWindow     = 6 // of intake
)

func newListWorld(t testing.TB, l *lab, seed uint64, change func(string) string) *listWorld {
	t.Helper()
	return &listWorld{course: newCourse(t, l, seed, 0, change), want: newListState()}
}

func (w *listWorld) step(int) (more bool) {
	w.tick++
	w.now++
	if said, want := w.act(); said != want {
		w.fail("the answer is %s, want %s", said, want)
	}
	if is := w.read(); fmt.Sprint(is) != fmt.Sprint(w.want) {
		w.fail("kept is\n%+v, want\n%+v", is, w.want)
	}
	return true
}

func (w *listWorld) finish() {}

// act does one thing and returns its answer, and what that should be.
func (w *listWorld) act() (said, want string) {
	switch n := w.random.IntN(20); {
	case n < 6:
		w.push()
		return "", ""
	case n < 14:
		return w.exchange()
	case n < 16:
		return w.renew()
	case n < 18:
		return w.monitor()
	case len(w.want.Jobs) > 0:
		return w.intake()
	}
	return "", ""
}

// push pushes one to four entries, of which some are there already, byte for byte.
func (w *listWorld) push() {
	for range 1 + w.random.IntN(4) {
		entry := fmt.Sprint("entry ", w.made)
		if w.made > 0 && w.rarely(4) {
			entry = fmt.Sprint("entry ", max(0, w.made-1-w.random.IntN(6)))
		} else {
			w.made++
		}
		w.note("push %s", entry)
		w.lab.redis.LPush(w.t.Context(), "jobs", entry)
		w.want.Jobs = slices.Insert(w.want.Jobs, 0, entry)
	}
}

// call runs a command and returns its reply as text.
func (w *listWorld) call(command string, args ...any) string {
	reply := w.batch(command, args...)
	if err, failed := reply.(error); failed {
		return err.Error()
	}
	return fmt.Sprintf("%q", reply)
}

var listTags = []string{"111111111", "222222222"}

// stamp is a start time of a session; each differs from all before.
func (w *listWorld) stamp(tag string) string { return fmt.Sprintf("\"%d.%sZ\"", w.tick, tag) }

// some draws entries that are in work, whoever has them, and now and then one that is not.
func (w *listWorld) some() (entries []string) {
	for _, entry := range slices.Sorted(maps.Keys(w.want.Progress)) {
		if w.rarely(3) {
			entries = append(entries, entry)
		}
	}
	if w.rarely(4) {
		entries = append(entries, "none")
	}
	w.random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries
}

// held says whether a session has an entry.
func (s *listState) held(entry, tag string) bool {
	return strings.HasSuffix(s.Progress[entry], tag+`Z"`)
}

// keep is what a settlement leaves of what is kept with an entry.
func (s *listState) keep(entry, kept string) {
	if delete(s.Tries, entry); kept != "" {
		s.Tries[entry] = kept
	}
}

// exchange settles some of what a session has, or had, and takes others; now and then the list is something else meanwhile.
func (w *listWorld) exchange() (said, want string) {
	tag, count := oneOfList(w, listTags), w.random.IntN(5)
	stamp := w.stamp(tag)
	args := []any{"jobs", "progress", "failed", "reasons", "broken", "tries", tag, stamp, listFailedMost, count}
	spoiled := w.rarely(6)
	if spoiled {
		args[9] = 0
	}
	var results []any
	acked := func(entry string) { delete(w.want.Progress, entry); delete(w.want.Tries, entry) }
	type settlement struct{ entry, action, kept, word string }
	var all []settlement
	for i, entry := range w.some() {
		s := settlement{entry, oneOfList(w, []string{"ack", "back", "front", "fail", "broken", "later"}), "", ""}
		if spoiled && i > 0 {
			break
		}
		switch s.action {
		case "back", "front":
			if w.rarely(2) {
				s.kept = fmt.Sprint("kept ", w.tick, entry)
			}
		case "later":
			s.kept, s.word = fmt.Sprint("kept ", w.tick, entry), fmt.Sprintf("\"later %d.%sZ\"", w.tick, tag)
		default:
			s.word = fmt.Sprint("word ", w.tick, entry)
		}
		args, all = append(args, s.entry, s.action, s.kept, s.word), append(all, s)
	}
	for _, s := range all {
		held := w.want.held(s.entry, tag)
		result := any(int64(0))
		if held {
			result = int64(1)
		}
		results = append(results, result)
		if held && s.action == "ack" {
			acked(s.entry)
		}
	}
	for i, s := range all {
		switch {
		case results[i] == int64(0):
		case spoiled && (s.action == "back" || s.action == "front"):
			results[i] = "WRONGTYPE Operation against a key holding the wrong kind of value"
		default:
			w.want.settle(s.entry, s.action, s.kept, s.word)
		}
	}
	if len(all) == 0 {
		results = []any{}
	}
	if spoiled {
		w.lab.redis.Rename(w.t.Context(), "jobs", "aside")
		w.lab.redis.Set(w.t.Context(), "jobs", "text", 0)
	}
	taken, twice, more := w.want.take(int(args[9].(int)), stamp)
	said = w.call("list.exchange", args...)
	if spoiled {
		w.lab.redis.Del(w.t.Context(), "jobs")
		w.lab.redis.Rename(w.t.Context(), "aside", "jobs")
		said = strings.ReplaceAll(said, `list.exchange(): `, "")
	}
	return said, fmt.Sprintf("%q", []any{results, taken, int64(twice), int64(more), ""})
}

func oneOfList[T any](w *listWorld, list []T) T { return list[w.random.IntN(len(list))] }

// settle does what an action other than an ack does about an entry that is held.
func (s *listState) settle(entry, action, kept, word string) {
	if action == "later" {
		s.Progress[entry] = word
		s.keep(entry, kept)
		return
	}
	if action == "ack" {
		return
	}
	delete(s.Progress, entry)
	switch action {
	case "back":
		s.Jobs = slices.Insert(s.Jobs, 0, entry)
	case "front":
		s.Jobs = append(s.Jobs, entry)
	case "fail":
		s.Failed, s.Reasons = slices.Insert(s.Failed, 0, entry), slices.Insert(s.Reasons, 0, word)
		s.Failed, s.Reasons = s.Failed[:min(len(s.Failed), listFailedMost)], s.Reasons[:min(len(s.Reasons), listFailedMost)]
	case "broken":
		s.Broken[entry] = word
		return
	}
	s.keep(entry, kept)
}

// take takes up to count entries.
func (s *listState) take(count int, stamp string) (taken []any, twice, more int) {
	taken = []any{}
	if count = min(count, len(s.Jobs)); count == 0 {
		return taken, 0, 0
	}
	next := slices.Clone(s.Jobs[len(s.Jobs)-count:])
	slices.Reverse(next)
	s.Jobs = s.Jobs[:len(s.Jobs)-count]
	for _, entry := range next {
		if s.Progress[entry] != "" {
			s.Jobs = slices.Insert(s.Jobs, 0, entry)
			twice++
			continue
		}
		s.Progress[entry] = stamp
		taken = append(taken, entry, s.Tries[entry])
	}
	if len(taken) > 0 && twice > 0 {
		more = 1
	}
	return taken, twice, more
}

// renew gives some entries a new start time.
func (w *listWorld) renew() (said, want string) {
	tag := oneOfList(w, listTags)
	stamp := w.stamp(tag)
	args, results := []any{"progress", "tries", tag, stamp}, []any{}
	for _, entry := range w.some() {
		kept := ""
		if w.rarely(2) {
			kept = fmt.Sprint("renewed ", w.tick, entry)
		}
		args = append(args, entry, kept)
		if !w.want.held(entry, tag) {
			results = append(results, int64(0))
			continue
		}
		results = append(results, int64(1))
		w.want.Progress[entry] = stamp
		if kept != "" {
			w.want.Tries[entry] = kept
		}
	}
	return w.call("list.renew", args...), fmt.Sprintf("%q", results)
}

// monitor moves some of what was seen, of which some has changed since.
func (w *listWorld) monitor() (said, want string) {
	args, results := []any{"jobs", "progress"}, []any{}
	for _, entry := range w.some() {
		seen, action := w.want.Progress[entry], oneOfList(w, []string{"front", "back", "drop", w.stamp("333333333")})
		if w.rarely(3) || seen == "" {
			seen = "another"
		}
		args = append(args, entry, seen, action)
		if seen == "another" {
			results = append(results, int64(0))
			continue
		}
		results = append(results, int64(1))
		delete(w.want.Progress, entry)
		switch action {
		case "front":
			w.want.Jobs = append(w.want.Jobs, entry)
		case "back":
			w.want.Jobs = slices.Insert(w.want.Jobs, 0, entry)
		case "drop":
		default:
			w.want.Progress[entry] = action
		}
	}
	return w.call("list.monitor", args...), fmt.Sprintf("%q", results)
}

// intake makes jobs of what comes next, as it was read; now and then others took some of it meanwhile.
func (w *listWorld) intake() (said, want string) {
	n := min(1+w.random.IntN(4), len(w.want.Jobs))
	read := slices.Clone(w.want.Jobs[len(w.want.Jobs)-n:])
	slices.Reverse(read)
	if n > 1 && w.rarely(3) {
		read[1+w.random.IntN(n-1)] = "another"
	}
	var puts []Put
	args := []any{"", "jobs", "broken", "q", listWindow, n}
	for i, entry := range read {
		trouble := ""
		if w.rarely(2) {
			trouble = fmt.Sprintf(`{"reason":"trouble %d %s"}`, w.tick, entry)
		} else {
			data, _ := json.Marshal(entry)
			puts = append(puts, Put{Queue: "q", Klass: "K", JID: fmt.Sprintf("j%d-%d", w.tick, i), Data: data})
		}
		args = append(args, entry, trouble)
	}
	for i := range puts {
		ok(w.t, puts[i].complete())
	}
	named, _ := nameAndCheck(puts, nil)
	room, moved, answers := listWindow-len(w.want.Made), 0, []any{}
	for i, entry := range read {
		if i >= room || w.want.Jobs[len(w.want.Jobs)-1] != entry {
			break
		}
		w.want.Jobs = w.want.Jobs[:len(w.want.Jobs)-1]
		moved++
		if trouble := args[7+2*i].(string); trouble != "" {
			n := 0
			if was, is := w.want.Broken[entry]; is {
				n = 1
				_, _ = fmt.Sscanf(was[max(0, strings.LastIndexByte(was, ',')):], `,"times":%d}`, &n)
			}
			w.want.Broken[entry] = withTimes(trouble, n+1)
			continue
		}
		w.want.Made[puts[0].JID] = string(puts[0].Data)
		puts = puts[1:]
		answers = append(answers, "put")
	}
	full := 0
	if room-moved < 1 {
		full = 1
	}
	said = w.call("list.intake", appendPuts(args, named)...)
	if full == 1 || w.rarely(3) { // somebody works them
		w.work()
	}
	return said, fmt.Sprintf("%q", []any{int64(moved), answers, int64(full)})
}

// work does away with all jobs that were made, and says so if they are not those that should be there.
func (w *listWorld) work() {
	if is := w.jobs(); !maps.Equal(is, w.want.Made) {
		return // read finds it
	}
	for jid := range w.want.Made {
		w.lab.redis.Del(w.t.Context(), "ql:j:"+jid)
	}
	w.lab.redis.Del(w.t.Context(), "ql:q:q-work")
	clear(w.want.Made)
}

// jobs are the data of those that wait, by jid.
func (w *listWorld) jobs() map[string]string {
	made := map[string]string{}
	for _, jid := range w.lab.redis.ZRange(w.t.Context(), "ql:q:q-work", 0, -1).Val() {
		made[jid] = w.lab.redis.HGet(w.t.Context(), "ql:j:"+jid, "data").Val()
	}
	return made
}

// read is what Redis has.
func (w *listWorld) read() listState {
	list := func(name string) []string { return w.lab.redis.LRange(w.t.Context(), name, 0, -1).Val() }
	hash := func(name string) map[string]string { return w.lab.redis.HGetAll(w.t.Context(), name).Val() }
	return listState{list("jobs"), list("failed"), list("reasons"), hash("progress"), hash("broken"), hash("tries"), w.jobs()}
}

// TestListModel plays random programs of a list on each server.
func TestListModel(t *testing.T) {
	for _, server := range []string{"shared", "embedded"} {
		l := newLab(t, server, DefaultNamespace)
		playAll(t, 30, 120, func(seed uint64) program { return newListWorld(t, l, seed, unchanged) })
	}
}

// listMutations are mistakes in the scripts that the programs must find.
var listMutations = []mistake{
	{name: "whoever settles has the entry", changes: []string{"string.sub(value, -11) == tag .. 'Z\"'", "true"}},
	{name: "what is acknowledged stays in work", changes: []string{"  call_many('HDEL', progress, acked)\n", ""}},
	{name: "what is kept with an entry outlives it", changes: []string{"then call_many('HDEL', tries, acked) end", "then end"}},
	{name: "a retry goes to the front", changes: []string{"  move_entry(progress, entry, held, 'LPUSH', jobs)", "  move_entry(progress, entry, held, 'RPUSH', jobs)"}},
	{name: "what is given back goes to the back", changes: []string{"  move_entry(progress, entry, held, 'RPUSH', jobs)", "  move_entry(progress, entry, held, 'LPUSH', jobs)"}},
	{name: "all that failed is kept", changes: []string{"  redis.call('LTRIM', failed, 0, most - 1)\n", ""}},
	{name: "all reasons are kept", changes: []string{"  redis.call('LTRIM', reasons, 0, most - 1)\n", ""}},
	{name: "what failed has no reason", changes: []string{"  redis.call('LPUSH', reasons, why)\n", ""}},
	{name: "what failed is known as tried", changes: []string{"  keep(entry, '')\n", ""}},
	{name: "what is no job is forgotten", changes: []string{"  set_aside(broken, entry, when)\n  redis.call('HDEL', progress, entry)", "  redis.call('HDEL', progress, entry)"}},
	{name: "what is no job stays in work", changes: []string{"  set_aside(broken, entry, when)\n  redis.call('HDEL', progress, entry)", "  set_aside(broken, entry, when)"}},
	{name: "a delayed retry is not delayed", changes: []string{"  redis.call('HSET', progress, entry, at)\n", ""}},
	{name: "how often an entry was tried is not kept", changes: []string{"redis.call('HSET', tries, entry, kept)\n  else", "\n  else"}},
	{name: "how often an entry was tried is not told", changes: []string{"taken[#taken + 1] = kept[i] or ''", "taken[#taken + 1] = ''"}},
	{name: "equal entries run side by side", changes: []string{"if held[i] or seen[entry] then", "if seen[entry] then"}},
	{name: "equal entries of one call are one", changes: []string{"if held[i] or seen[entry] then", "if held[i] then"}},
	{name: "an equal entry is lost", changes: []string{"  call_many('LPUSH', jobs, twice)\n", ""}},
	{name: "an equal entry comes next again", changes: []string{"  call_many('LPUSH', jobs, twice)\n", "  call_many('RPUSH', jobs, twice)\n"}},
	{name: "what is taken is not in work", changes: []string{"  call_many('HSET', progress, stamped)\n  redis.call('LTRIM', jobs", "  redis.call('LTRIM', jobs"}},
	{name: "what is taken stays in the list", changes: []string{"  redis.call('LTRIM', jobs, 0, -1 - #entries)\n", ""}},
	{name: "one more than is taken leaves the list", changes: []string{"-1 - #entries", "-2 - #entries"}},
	{name: "the last come first", changes: []string{"for i = #found, 1, -1 do", "for i = 1, #found do"}},
	{name: "nobody is told that there is more", changes: []string{"(more or #twice > 0) and 1 or 0", "more and 1 or 0"}},
	{name: "a list that is none takes entries along", changes: []string{"    redis.pcall('HSET', from, entry, value)\n", ""}},
	{name: "what is moved is still in work", changes: []string{"  redis.call('HDEL', from, entry)\n", ""}},
	{name: "others' entries are renewed", changes: []string{"reply[i] = is_held(held[i], tag) and 1 or 0", "reply[i] = held[i] and 1 or 0"}},
	{name: "a renewal leaves the start time", changes: []string{"call_many('HSET', progress, stamped)\nif #kept", "if #kept"}},
	{name: "a renewal drops what is to be kept", changes: []string{"if #kept > 0 then pcall(call_many, 'HSET', tries, kept) end", ""}},
	{name: "a monitor does not look again", changes: []string{"if redis.call('HGET', progress, entry) ~= value then return 0 end", ""}},
	{name: "a monitor puts to the back", changes: []string{"front = 'RPUSH'", "front = 'LPUSH'"}},
	{name: "a monitor puts what was delayed to the front", changes: []string{"back = 'LPUSH'", "back = 'RPUSH'"}},
	{name: "a monitor drops nothing", changes: []string{"      redis.call('HDEL', progress, entry)\n", ""}},
	{name: "a monitor leaves a time that it cannot read", changes: []string{"      redis.call('HSET', progress, entry, action)\n", ""}},
	{name: "what was taken in stays", changes: []string{"  redis.call('LTRIM', list, 0, -1 - moved)\n", ""}},
	{name: "what others took is taken in", changes: []string{"  if there[#there + 1 - i] ~= entry then break end\n", ""}},
	{name: "there is no window", changes: []string{"for i = 1, math.min(count, room) do", "for i = 1, count do"}},
	{name: "nobody is told that the window is full", changes: []string{"room - moved < 1 and 1 or 0", "0"}},
	{name: "of those that cannot be jobs and are alike one is kept", changes: []string{"times_of(redis.call('HGET', broken, entry)) + 1", "1"}},
	{name: "what cannot be a job is lost", changes: []string{"then set_aside(broken, ARGV[6 + 2 * i], ARGV[7 + 2 * i]) end", "then end"}},
}

// TestListMutations makes each mistake, in whatever script it is, and plays until a program finds it.
func TestListMutations(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	mustFindEach(t, listMutations, 20, 60, func(_ mistake, i uint64, change func(string) string) program {
		return newListWorld(t, l, 1000+i, change)
	})
}
