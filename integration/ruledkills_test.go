package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/doctor"
	"oarlock/queue"
)

// limitRules are what TestJ8LimitsThroughKills works under; placesOf says the same once more.
const limitRules = `
[throttles.erp]
limit = 6
[throttles.db]
limit = 4
[throttles.api]
limit = 5
[throttles.all]
limit = 20
[throttles.region]
by = "/region"
limit = 10
shares = { east = "40%", north = "30%", west = "30%" }
[throttles.lent]
by = "/region"
limit = 8
shares = { east = "50%", north = "25%", west = "25%" }
borrow = true
[throttles.tenant]
by = "/tenant"
limit = 9
each = 2
[queues.work]
throttles = ["region", "all"]
[queues.bulk]
throttles = ["lent", "all"]
[queues.mail]
limit = 5
throttles = ["tenant", "all"]
[klass.Heavy]
queues = ["work", "bulk", "mail"]
weight = 2
throttles = ["erp"]
[klass.Light]
queues = ["work", "bulk", "mail"]
throttles = ["db"]
[klass.Free]
queues = ["work", "bulk", "mail"]
bypass = true
`

var limitedQueues = []string{"work", "bulk", "mail"}

// limits are those of limitRules by the names of the throttles; of values in shares where they are hard.
var limits = map[string]int{
	"erp": 6, "db": 4, "api": 5, "all": 20, "region": 10, "region=east": 4, "region=north": 3, "region=west": 3, "lent": 8, "tenant": 9, "ql:q:mail": 5,
	"tenant=0": 2, "tenant=1": 2, "tenant=2": 2, "tenant=3": 2, "tenant=4": 2, "tenant=5": 2, "tenant=6": 2,
}

// limitedData is the data of a job that needs places.
type limitedData struct {
	MS     int    `json:"ms"`
	Region string `json:"region"`
	Tenant string `json:"tenant"`
}

// limitedPuts are n jobs of all kinds.
func (r *rig) limitedPuts(t testing.TB, n int) []queue.Put {
	t.Helper()
	puts := make([]queue.Put, n)
	for i := range puts {
		d := limitedData{MS: 1 + r.random.IntN(4), Region: []string{"east", "east", "north", "west"}[r.random.IntN(4)], Tenant: fmt.Sprint(r.random.IntN(7))}
		data := got(json.Marshal(d))(t)
		puts[i] = queue.Put{Queue: limitedQueues[r.random.IntN(3)], JID: queue.NewJID(), Klass: []string{"Heavy", "Light", "Plain", "Plain", "Free"}[r.random.IntN(5)], Data: data}
		if r.random.IntN(5) == 0 {
			puts[i].Throttles = []string{"api"}
		}
	}
	return puts
}

// placesOf is how many of each throttle a job takes.
func placesOf(t testing.TB, p queue.Put) map[string]int {
	t.Helper()
	if p.Klass == "Free" {
		return nil
	}
	var d limitedData
	must(t, json.Unmarshal(p.Data, &d))
	names := slices.Concat(p.Throttles, map[string][]string{
		"work": {"all", "region", "region=" + d.Region}, "bulk": {"all", "lent"}, "mail": {"all", "tenant", "tenant=" + d.Tenant, "ql:q:mail"},
	}[p.Queue])
	weight := 1
	switch p.Klass {
	case "Heavy":
		names, weight = append(names, "erp"), 2
	case "Light":
		names = append(names, "db")
	}
	taken := map[string]int{}
	for _, name := range names {
		taken[name] = min(weight, limits[name])
	}
	return taken
}

// mostTaken is how many places of each throttle runs took at a time, by their own clock: from when a child began one to its last sign of life. Of
// runs whose id begins with without nothing is said.
func mostTaken(entries []entry, takes map[string]map[string]int, without string) map[string]int {
	type change struct {
		at    float64
		by    int
		takes map[string]int
	}
	var changes []change
	for jid, rs := range runs(entries) {
		for _, run := range rs {
			if !strings.HasPrefix(run.run, without) {
				over := max(run.last, math.Nextafter(run.at, math.Inf(1))) // of which nothing more was heard, it took them all the same
				changes = append(changes, change{run.at, 1, takes[jid]}, change{over, -1, takes[jid]})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	now, most := map[string]int{}, map[string]int{}
	for _, c := range changes {
		for name, n := range c.takes {
			now[name] += c.by * n
			most[name] = max(most[name], now[name])
		}
	}
	return most
}

// A measure that cannot tell too many from enough says nothing: one run may end as another begins, and not after it.
func TestMostTaken(t *testing.T) {
	line := func(jid, run, what string, at float64) entry { return entry{jid: jid, run: run, what: what, at: at} }
	takes := map[string]map[string]int{"a": {"erp": 2}, "b": {"erp": 1, "db": 1}, "c": {"erp": 4}}
	entries := []entry{
		line("a", "1", "begin", 1), line("b", "2", "begin", 2), line("a", "1", "end", 2), line("b", "2", "beat", 4), line("a", "3", "begin", 3),
		line("c", "other-1", "begin", 3), line("c", "other-1", "end", 5),
	}
	if most := mostTaken(entries, takes, "other-"); most["erp"] != 3 || most["db"] != 1 {
		t.Errorf("at most were taken %v", most)
	}
}

// limitsThroughKills works jobs of three queues under seven throttles, with weights and shares, by four supervisors and a client that knows no rules;
// replies are lost, and supervisors, children, that client and Redis are killed. What the children wrote down says that no limit is passed by ours; no job is lost, and when
// all are done nobody has a place, nothing waits, and doctor has nothing to say.
func limitsThroughKills(t *testing.T, r *rig) {
	n, kills, wave := scaled(500, 50_000), scaled(4, 60), 5000
	const children, odd = 3, "stranger"
	r.speechless = true // the stranger keeps no records
	p := pool{children: children, more: "max_crashes = 1000"}
	configs, supervisors := map[string]string{}, map[string]*supervisor{}
	start := func(name string) {
		config := strings.Replace(r.config(t, name, p), `queues = ["work"]`, `queues = ["work", "bulk", "mail"]`+"\norder = \"round-robin\"", 1)
		configs[name] = config + limitRules
		supervisors[name] = r.startConfig(t, name, configs[name])
	}
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		start(name)
	}
	takes := map[string]map[string]int{}
	put := func() {
		puts := r.limitedPuts(t, min(wave, n-len(r.jids)))
		for _, p := range puts {
			takes[p.JID] = placesOf(t, p)
		}
		r.putAll(t, puts)
	}
	put()
	r.ledger.await(t, "jobs done", ended(20))
	stranger := r.stranger(t, odd, queue.Reqless, 0, keyless, limitedQueues...)
	r.loseReplies(0.02)
	killed := map[string]int{}
	for k := range kills {
		r.ledger.await(t, "more jobs done", func(es []entry) bool {
			if len(r.jids) < n && r.unsettled(t) < wave/2 {
				put()
			}
			return count(es, "end") >= (k+1)*n/(kills+2)
		})
		switch k % 4 {
		case 0:
			name := names[r.random.IntN(len(names))]
			supervisors[name].kill(t)
			start(name)
			killed["supervisors"]++
		case 1:
			entries := r.ledger.all(t)
			if syscall.Kill(entries[len(entries)-1].pid, syscall.SIGKILL) == nil {
				killed["children"]++
			}
		case 2:
			r.redis.Kill()
			r.redis.Restart()
			killed["redis"]++
		case 3:
			endNow(stranger)
			stranger = r.stranger(t, odd, queue.Reqless, 0, keyless, limitedQueues...)
			killed["strangers"]++
		}
	}
	for len(r.jids) < n {
		put()
	}
	r.loseReplies(0)
	endNow(stranger)
	allDone(t, r.settled(t))
	r.check(t, allowed{twice: killed["supervisors"]*children + killed["children"] + killed["strangers"] + killed["redis"]})
	r.nobodyHasPlaces(t, odd)
	entries := r.ledger.all(t)
	most := mostTaken(entries, takes, odd)
	for name, n := range most {
		if n > limits[name] {
			t.Errorf("of %s %d places were taken at a time, of %d", name, n, limits[name])
		}
	}
	if most["all"] < 6 || most["ql:q:mail"] < 3 {
		t.Errorf("at most were taken %v: that shows nothing", most)
	}
	r.note("killed", killed, "lost_replies", r.proxy.Dropped())
	r.note("by_stranger", len(slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.what != "end" || !strings.HasPrefix(e.run, odd) })))
	r.note("most", most)
	for _, name := range slices.Sorted(maps.Keys(supervisors)) {
		supervisors[name].stop(t)
	}
}

// nobodyHasPlaces waits until nobody has a place, and nothing of the gate is left; then doctor is to name nobody but strangers.
func (r *rig) nobodyHasPlaces(t testing.TB, strangers string) {
	t.Helper()
	stay := []string{"stats-sweep", "rules", "edition", "needs", "seen", "served", "tended", "held", "starts", "outside", "o"}
	await(t, func() error {
		for _, key := range r.db.Keys(context.Background(), "ql:*").Val() {
			ours, is := strings.CutPrefix(key, "ql:oarlock:")
			kind, _, _ := strings.Cut(ours, ":")
			if is && !slices.Contains(stay, kind) || strings.HasPrefix(key, "ql:th:") && strings.HasSuffix(key, "-locks") {
				return fmt.Errorf("%s is left, with %v", key, r.db.Do(context.Background(), "ZRANGE", key, 0, 3).Val())
			}
		}
		return nil
	})
	d := &doctor.Doctor{Client: r.client, Report: func(f doctor.Finding) {
		if f.Level != doctor.OK && !strings.Contains(f.Text, "Worker "+strangers) {
			t.Errorf("doctor says %s", f.Text)
		}
	}}
	for _, look := range []func(context.Context) error{d.Keys, d.Rules} {
		if err := look(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
