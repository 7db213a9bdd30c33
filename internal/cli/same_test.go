package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/control"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// allStates puts a job of each state, and of each kind of thing that can be read some.
func allStates(t *testing.T, q *queue.Client) {
	t.Helper()
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(all ...queue.Put) {
		t.Helper()
		results, err := q.PutAll(ctx, all)
		must(nil, err)
		for _, r := range results {
			must(nil, r.Err)
		}
	}
	settle := func(in string, s queue.Settlement) {
		t.Helper()
		session := q.Session("web2-4711-" + in)
		defer session.Close()
		reply, err := session.Exchange(ctx, nil, queue.Take{Queues: []string{in}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatalf("%s: took %+v, %v", in, reply.Jobs, err)
		}
		s.JID, s.Queue, s.Popped = reply.Jobs[0].JID, in, reply.Jobs[0].Popped
		reply, err = session.Exchange(ctx, []queue.Settlement{s}, queue.Take{})
		must(nil, err)
		must(nil, reply.Results[0].Err)
	}
	must(nil, q.SetThrottle(ctx, queue.Throttle{ID: "lic", Maximum: 1, TTL: time.Hour}))
	must(nil, q.Set(ctx, "mix-max-concurrency", "4"))
	five, none := 5.0, 0
	put(
		queue.Put{
			Queue: "mix", JID: "waits", Klass: "Send", Priority: &five, Tags: []string{"t", "u"}, Data: []byte(`{ "to": "ann", "n": 12345678901234567890, "list": [], "html": "<b>&\u00e9" }`),
			Trace: queue.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, Timeout: time.Minute,
		},
		queue.Put{Queue: "mix", JID: "waits too", Klass: "Send", Tags: []string{"t"}, Data: []byte(`"a text"`)}, queue.Put{Queue: "mix", JID: "later", Klass: "Send", Delay: time.Hour},
		queue.Put{Queue: "mix", JID: "after", Klass: "Send", Depends: []string{"later"}}, queue.Put{Queue: "mix", JID: "gone", Klass: "Send"},
		queue.Put{Queue: "thr", JID: "holds", Klass: "Send", Throttles: []string{"lic"}}, queue.Put{Queue: "thr", JID: "in line", Klass: "Send", Throttles: []string{"lic"}},
		queue.Put{Queue: "stale", JID: "stalled", Klass: "Send"}, queue.Put{Queue: "paused", JID: "paused", Klass: "Send"},
		queue.Put{Queue: "bad", JID: "failed", Klass: "Resize", Retries: &none}, queue.Put{Queue: "good", JID: "done", Klass: "Send"}, queue.Put{Queue: "again", JID: "retried", Klass: "Send"},
		queue.Put{Queue: "pay", JID: "parked", Klass: "Pay"}, queue.Put{Queue: "held", JID: "held", Klass: "Send"},
		queue.Put{Queue: "ordered", JID: "first", Klass: "Ship", Key: "c"}, queue.Put{Queue: "ordered", JID: "behind", Klass: "Ship", Key: "c"},
	)
	must(q.Pop(ctx, "thr", "web1-7-thr", 2))
	must(q.Pop(ctx, "stale", "web1-7-stale", 1))
	must(q.Pop(ctx, "held", "web1-7-off", 1))
	must(nil, q.ForgetWorkers(ctx, "web1-7-off"))
	must(nil, q.Redis().ZAdd(ctx, "ql:q:stale-locks", zOf(1, "stalled")).Err())
	settle("bad", queue.Settlement{
		Action: queue.Fail, Group: "exit-1", Message: "cannot open <cat>.jpg\nnor its copy", Checkpoint: []byte(`{"page":3}`),
		Record: []byte(`{"ending":"exited","stderr":"Traceback <1>","exit":1}`),
	})
	settle("good", queue.Settlement{Action: queue.Complete})
	settle("again", queue.Settlement{Action: queue.Retry, Delay: time.Hour, Group: "g", Message: "m"})
	settle("pay", queue.Settlement{Action: queue.Park, Correlation: "order-17", Delay: time.Hour})
	must(nil, q.Pause(ctx, "paused"))
	must(nil, q.Log(ctx, "waits", "looked at it", []byte(`{"by":"anna"}`)))
	must(q.Track(ctx, "waits"))
	must(q.Track(ctx, "gone"))
	must(nil, q.Cancel(ctx, "gone"))
	must(q.Recur(ctx, queue.Recurring{Queue: "mix", JID: "recurs", Klass: "Send", Data: []byte(`{"a":1}`), Interval: time.Hour, Offset: time.Hour, Tags: []string{"t"}, Backlog: 2}))
	must(q.PutCron(ctx, queue.Cron{Name: "nightly", Schedule: "@daily", CronWork: queue.CronWork{Queue: "mix", Klass: "Send", Data: []byte(`{}`)}}, "", time.Time{}, queue.CronHolder{}))
}

// ruleTables are rules of each kind.
const ruleTables = `
[throttles.erp]
limit = 1
rate = "100/10s"
[throttles.region]
limit = 10
by = "/region"
shares = { east = "40%" }
others = "60%"
[windows.night]
zone = "Europe/Berlin"
open = ["22:00-06:00"]
[queues.ruled]
throttles = ["erp", "region"]
[klass.Nightly]
queues = ["ruled"]
windows = ["night"]
`

// ruledAndLists makes jobs wait for a throttle of the rules, and lists have entries of each part.
func ruledAndLists(t *testing.T, q *queue.Client) {
	t.Helper()
	ctx := t.Context()
	for i := range 4 {
		must.Get(q.Put(ctx, queue.Put{Queue: "ruled", JID: fmt.Sprint("ruled", i), Klass: "Send", Data: fmt.Appendf(nil, `{"region":"%d"}`, i%2)}))(t)
	}
	session := q.Session("web2-4711-ruled")
	defer session.Close()
	if reply, err := session.Exchange(ctx, nil, queue.Take{Queues: []string{"ruled"}, Count: 4}); err != nil || len(reply.Jobs) != 1 {
		t.Fatalf("took %+v, %v", reply.Jobs, err)
	}
	redis := q.Redis()
	for _, err := range []error{
		redis.LPush(ctx, "hworker-jobs-pics", `["a",{"n":1}]`, `["b",{"n":2}]`).Err(), redis.HSet(ctx, "hworker-broken-pics", "no envelope", "2026-01-01 00:00:00.5 UTC").Err(),
		redis.LPush(ctx, "hworker-failed-pics", `["c",{"n":3}]`).Err(), redis.HSet(ctx, "hworker-progress-pics", `["d",4]`, `"2026-01-01T00:00:00.5Z"`).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// twice is something that can be read by both, each answer as it is to be compared; nil takes it as it is.
type twice struct {
	command, path string
	cli, api      func(any) any
	moves         bool // what is measured in it moves from one look to the next
}

// What an answer is made of before it is compared.

func items(v any) any { return field("items")(v) }

func field(name string) func(v any) any { return func(v any) any { return v.(map[string]any)[name] } }

func alone(v any) any { return []any{v} }

func then(f, g func(any) any) func(any) any { return func(v any) any { return g(f(v)) } }

// byJID is a list of jobs in the order of their names, byName one of queues.
func byJID(v any) any  { return by("jid", v) }
func byName(v any) any { return by("name", v) }

func by(name string, v any) any {
	all := slices.Clone(v.([]any))
	slices.SortFunc(all, func(a, b any) int { return cmp.Compare(fmt.Sprint(field(name)(a)), fmt.Sprint(field(name)(b))) })
	return all
}

// brief are jobs as the lists of the API tell them, without what is long: the command line tells all.
func brief(v any) any {
	for _, job := range v.([]any) {
		for _, long := range []string{"history", "checkpoint", "record"} {
			delete(job.(map[string]any), long)
		}
	}
	return v
}

// there are the jobs of a list that are not gone.
func there(v any) any {
	return slices.DeleteFunc(slices.Clone(v.([]any)), func(job any) bool { return field("state")(job) == "gone" })
}

// counts are how many jobs have failed in each group.
func counts(v any) any {
	groups := map[string]any{}
	for _, group := range v.([]any) {
		groups[fmt.Sprint(field("group")(group))] = field("jobs")(group)
	}
	return groups
}

// readTwice is all that both the command line and the API read.
func readTwice() []twice {
	all := []twice{
		{command: "queue ls", path: "/queues", cli: byName, api: then(items, byName)}, {command: "queue ls m*", path: "/queues?match=m*", api: items}, {command: "queue ls paused", path: "/queues/paused", api: alone},
		{command: "queue show mix", path: "/queues/mix", cli: field("counts")}, {command: "queue peek mix", path: "/queues/mix/jobs", cli: brief, api: items}, {command: "queue jobs pay --state parked", path: "/queues/pay/jobs?state=scheduled", cli: items, api: items},
		{command: "job ls tracked", path: "/tracked", cli: then(field("jobs"), then(brief, byJID)), api: then(items, then(there, byJID))}, {command: "job ls complete", path: "/completed", cli: then(field("jobs"), brief), api: items},
		{command: "failed ls", path: "/failures", api: then(items, counts)}, {command: "failed ls exit-1", path: "/failures/exit-1", cli: brief, api: items}, {command: "job show failed", path: "/jobs/failed/record", cli: field("record")},
		{command: "worker ls", path: "/workers", api: items}, {command: "worker show web1-7-thr", path: "/workers/web1-7-thr", cli: brief, api: items}, {command: "worker show web1-7-stale", path: "/workers/web1-7-stale", cli: brief, api: items}, {command: "worker show web1-7-off", path: "/workers/web1-7-off", cli: brief, api: items},
		{command: "throttle ls", path: "/throttles", api: items}, {command: "throttle show lic", path: "/throttles/lic"},
		{command: "recur ls", path: "/recurring", api: items}, {command: "recur ls m*", path: "/recurring?match=m*", api: items}, {command: "recur show recurs", path: "/recurring/recurs"}, {command: "recur show nightly", path: "/recurring/nightly"},
		{command: "tag ls", path: "/tags", api: items}, {command: "tag show t", path: "/tags/t", cli: then(field("jobs"), then(brief, byJID)), api: then(items, byJID)}, {command: "config get", path: "/settings"},
		{command: "park ls", path: "/queues/pay/jobs?state=scheduled", api: items}, {command: "job show parked", path: "/parked/Pay/order-17"},
		{command: "search lic", path: "/search?q=lic"}, {command: "search state:failed group:exit-1", path: "/search?q=state:failed+group:exit-1"}, {command: "search tag:t", path: "/search?q=tag:t"},
		{command: "queue jobs mix --by jid --reverse", path: "/queues/mix/sorted?by=jid&reverse=1"}, {command: "queue jobs again --state scheduled --by tries --from 1", path: "/queues/again/sorted?state=scheduled&by=tries&from=1"},
		{command: "queue now again --dry-run", path: "POST /queues/again/now"}, {command: "queue kill again --dry-run", path: "POST /queues/again/kill"},
		{command: "key ls ordered", path: "/queues/ordered/keys"}, {command: "key ls ordered --by name --limit 1", path: "/queues/ordered/keys?by=name&limit=1"}, {command: "key show ordered c", path: "/queues/ordered/keys/c"},
		{command: "key drop ordered c --dry-run", path: "POST /queues/ordered/keys/c/drop"}, {command: "key free ordered --dry-run", path: "POST /queues/ordered/free"},
		{command: "rules show", path: "/rules"}, {command: "rules show erp", path: "/rules?name=erp"}, {command: "rules diff", path: "/rules/diff"}, {command: "rules apply --dry-run", path: "POST /rules/apply"},
		{command: "rules explain --queue ruled --klass Send", path: "/rules/explain?queue=ruled&klass=Send"},
		{command: "rules explain --queue ruled --weight 3 --window 00:00-23:00 --zone Asia/Tokyo", path: "/rules/explain?queue=ruled&weight=3&window=00:00-23:00&zone=Asia/Tokyo", moves: true}, {command: "rules explain --queue ruled --bypass", path: "/rules/explain?queue=ruled&bypass=1"}, {command: "throttle show erp", path: "/throttles/erp"}, {command: "throttle show region", path: "/throttles/region"},
		{command: "window ls", path: "/windows", api: items, moves: true}, {command: "window next night", path: "/windows/next?spec=night", moves: true}, {command: "window next '00:00-24:00'", path: "/windows/next?spec=00:00-24:00", moves: true}, {command: "klass ls", path: "/klasses", api: items}, {command: "klass show Nightly", path: "/klasses/Nightly"}, {command: "park ls", path: "/parked", api: items}, {command: "park ls pay", path: "/parked?match=pay&limit=3", api: items}, {command: "park show Pay order-17", path: "/parked/Pay/order-17"},
		{command: "list ls", path: "/lists", api: items}, {command: "list show hworker:pics", path: "/lists/hworker:pics/entries", api: items}, {command: "list broken hworker:pics", path: "/lists/hworker:pics/entries?part=broken", api: items},
		{command: "list failed hworker:pics", path: "/lists/hworker:pics/entries?part=failed", api: items}, {command: "list show hworker:pics --in-work", path: "/lists/hworker:pics/entries?part=in-work", api: items},
		{command: "status", path: "/status", moves: true}, {command: "status --all", path: "/supervisors", moves: true},
	}
	for _, state := range []string{"waiting", "scheduled", "depends"} {
		all = append(all, twice{command: "queue jobs mix --by jid --state " + state, path: "/queues/mix/jobs?state=" + state, cli: then(items, byJID), api: then(items, byJID)})
	}
	for in, state := range map[string]string{"thr": "running", "stale": "stalled", "ordered": "throttled", "again": "scheduled"} {
		all = append(all, twice{command: "queue jobs " + in + " --state " + state, path: "/queues/" + in + "/jobs?state=" + state, cli: items, api: items})
	}
	for _, name := range []string{"mix", "bad", "good", "thr"} {
		all = append(all, twice{command: "stats " + name, path: "/queues/" + name + "/stats"})
	}
	for _, jid := range []string{"waits", "'waits too'", "later", "after", "holds", "'in line'", "stalled", "paused", "failed", "done", "retried", "parked", "first", "behind"} {
		path := "/jobs/" + url.PathEscape(strings.Trim(jid, "'"))
		all = append(all, twice{command: "job show " + jid, path: path}, twice{command: "job why " + jid, path: path + "/why"}, twice{command: "job log " + jid, path: path + "/history", api: items})
	}
	return all
}

// watched are fields of which only who looks for minutes or hears all supervisors knows, which `queue eta` and `status --all` do.
var watched = []string{"outlook", "rate", "listeners"}

// seconds are fields that are as old as the look at them.
var seconds = []string{"as_of", "lag", "blocked", "unserved", "ttl"}

// ages are what a reason says of how long ago something was.
var ages = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)

// differences are what two answers say differently, by the place of it.
func differences(place string, cli, api any, moves bool) (found []string) {
	name := place[strings.LastIndex(place, ".")+1:]
	differ := func() []string { return []string{fmt.Sprintf("%s: %v and %v", place, cli, api)} }
	switch cli := cli.(type) {
	case map[string]any:
		api, is := api.(map[string]any)
		if !is {
			return differ()
		}
		both := maps.Clone(cli)
		maps.Copy(both, api)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			mine, has := cli[name]
			theirs, have := api[name]
			if has != have && !slices.Contains(watched, name) {
				found = append(found, fmt.Sprintf("%s.%s: only one of them has it, %v and %v", place, name, mine, theirs))
			} else if has && have {
				found = append(found, differences(place+"."+name, mine, theirs, moves)...)
			}
		}
	case []any:
		api, is := api.([]any)
		if !is || len(cli) != len(api) {
			return []string{fmt.Sprintf("%s: %d and %v", place, len(cli), api)}
		}
		for i := range cli {
			found = append(found, differences(fmt.Sprintf("%s[%d]", place, i), cli[i], api[i], moves)...)
		}
	case json.Number:
		api, is := api.(json.Number)
		mine, _ := cli.Float64()
		theirs, _ := api.Float64()
		if !is || cli != api && !moves && (!slices.Contains(seconds, name) || math.Abs(mine-theirs) > patience.Seconds()) {
			return differ()
		}
	case string:
		if api, is := api.(string); !is || ages.ReplaceAllString(cli, "") != ages.ReplaceAllString(api, "") {
			return differ()
		}
	default:
		if cli != api {
			return differ()
		}
	}
	return found
}

// read decodes an answer.
func read(t *testing.T, text string) (v any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v: %.500s", err, text)
	}
	return v
}

// look reads it both ways, and tells the differences.
func (b twice) look(t *testing.T, s *script, client *http.Client) []string {
	t.Helper()
	if err := s.oarlock(exitOK, append(s.words(b.command), "--json")); err != nil {
		t.Fatalf("%s: %v\n%s", b.command, err, s.said["stderr"])
	}
	method, path, deed := strings.Cut(b.path, " ")
	if !deed {
		method, path = "GET", b.path
	}
	code, text := send(t, client, method, "http://localhost/api/v1"+path, map[bool]string{true: `{"dry_run": true}`}[deed])
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", b.path, code, text)
	}
	mine, theirs := read(t, s.said["stdout"]), read(t, text)
	if b.cli != nil {
		mine = b.cli(mine)
	}
	if b.api != nil {
		theirs = b.api(theirs)
	}
	return differences("", mine, theirs, b.moves)
}

// What can be read by both the command line and the API has the same fields and values there, whatever state it is in; and
// what is not there is there for neither.
func TestCommandLineAndAPISayTheSame(t *testing.T) {
	server := redistest.Start(t) // the supervisor answers all who ask on its channel
	s, q := scriptAt(t, server.URL, strings.Replace(workFiles, "[log]", ruleTables+"[log]", 1)), openAt(t, server.URL)
	p := begin(t, s, "run")
	p.await(`a rule counts as the file says`)
	p.await(`INFO  ready`)
	allStates(t, q)
	ruledAndLists(t, q)
	socket := must.Get(control.Find(t.Context(), s.dir+"/state/oarlock", ""))(t)
	client := &http.Client{Transport: socket.Transport()}
	defer client.CloseIdleConnections()
	for _, both := range readTwice() {
		found := both.look(t, s, client)
		for began := time.Now(); both.moves && len(found) > 0 && time.Since(began) < patience; {
			found = both.look(t, s, client)
		}
		for _, difference := range found {
			t.Errorf("oarlock %s and GET %s differ at %s", both.command, both.path, difference)
		}
	}
	for command, path := range map[string]string{
		"job show nobody": "/jobs/nobody", "job why nobody": "/jobs/nobody/why", "job log nobody": "/jobs/nobody/history", "queue peek nosuch": "/queues/nosuch/jobs", "queue show nosuch": "/queues/nosuch",
		"queue jobs nosuch": "/queues/nosuch/jobs", "stats nosuch": "/queues/nosuch/stats", "throttle show nosuch": "/throttles/nosuch", "recur show nosuch": "/recurring/nosuch",
		"key ls nosuch": "/queues/nosuch/keys", "key show ordered nosuch": "/queues/ordered/keys/nosuch", "rules show nosuch": "/rules?name=nosuch", "window next nosuch": "/windows/next?spec=nosuch", "klass show nosuch": "/klasses/nosuch", "park show Pay nosuch": "/parked/Pay/nosuch",
	} {
		code, text := fetch(t, client, "GET", "http://localhost/api/v1"+path)
		if err := s.oarlock(exitGone, append(s.words(command), "--json")); err != nil || code != http.StatusNotFound {
			t.Errorf("oarlock %s: %v %s; GET %s: %d %s", command, err, s.said["stderr"], path, code, text)
		}
	}
}
