package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"oarlock/internal/callback"
	"oarlock/queue"
)

// Jobs park, a third of them answered before there is a job, and all twice at once over HTTP, by name and at the address of each, while
// supervisors are killed: of all answers to a job one is accepted, and each job goes on with its own, to one end.
func parkedAndAnsweredTwice(t *testing.T, r *rig) {
	const children, kills = 4, 3
	n := scaled(300, 10_000)
	order := func(i int) string { return fmt.Sprintf("order %d/é", i) }
	accepted := make([]int, n)
	var mu sync.Mutex // guards accepted
	secrets, listen := filepath.Join(r.dir, "secrets"), filepath.Join(r.dir, "web.sock")
	must(t, os.WriteFile(secrets, []byte(strings.Repeat("s", 32)), 0o600))
	sign := got(callback.Read(secrets))(t)
	const base = "http://localhost"
	b := r.start(t, "b", pool{children: children, worker: "parks.py", more: exact, top: fmt.Sprintf("[web]\nlisten = %q\nauth = \"none\"\nurl = %q\n[park]\nsecret_file = %q",
		"unix:"+listen, base, secrets)})
	b.said(t, "answering over HTTP")
	client := browse(t, listen).client
	answer := func(i int, address string) {
		for {
			word, again := post(t, client, address, fmt.Sprintf(`{"of": %q}`, order(i)))
			if again { // too many at a time
				continue
			}
			if word == queue.Resumed || word == queue.KeptFor {
				mu.Lock()
				accepted[i]++
				mu.Unlock()
			}
			return
		}
	}
	byName := func(i int) {
		answer(i, fmt.Sprintf("%s/api/v1/respond/Pay/%s?jid=p-%d", base, url.PathEscape(order(i)), i))
	}
	byCallback := func(i int) {
		answer(i, sign.Address(base, "Pay", fmt.Sprintf("p-%d", i))+url.QueryEscape(order(i)))
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	each(all[:n/3], func(i int) { answer(i, base+"/api/v1/respond/Pay/"+url.PathEscape(order(i))) })
	puts := make([]queue.Put, n)
	for i := range puts {
		puts[i] = queue.Put{Queue: "work", JID: fmt.Sprintf("p-%d", i), Klass: "Pay", Data: fmt.Appendf(nil, `{"order": %q}`, order(i))}
	}
	r.putAll(t, puts)
	a := r.start(t, "a", pool{children: children, worker: "parks.py", more: exact})
	r.ledger.await(t, "jobs at work", func(es []entry) bool { return count(es, "ask") >= n/10 })
	var doors sync.WaitGroup
	for _, door := range []func(int){byName, byCallback} {
		shuffled := slices.Clone(all)
		r.random.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		doors.Go(func() { each(shuffled, door) })
	}
	for k := range kills {
		r.ledger.await(t, "more jobs at their end", ended((k+1)*n/(kills+2)))
		a.kill(t)
		a = r.start(t, "a", pool{children: children, worker: "parks.py", more: exact})
	}
	doors.Wait()
	jobs := r.settled(t)
	allDone(t, jobs)
	for i, times := range accepted {
		if times != 1 {
			t.Errorf("of the answers to %s %d were accepted", order(i), times)
		}
	}
	ends := 0
	for _, e := range r.ledger.all(t) {
		switch e.what {
		case "foreign":
			t.Errorf("job %s was told of an answer to another", e.jid)
		case "end":
			ends++
		}
	}
	if ends < n || ends > n+kills*children {
		t.Errorf("%d runs were told of an answer, for %d jobs and %d killed children at most", ends, n, kills*children)
	}
	for _, job := range jobs {
		if _, settled := job.settlements(); settled != 1 {
			t.Errorf("job %s came to its end %d times", job.jid, settled)
		}
	}
	for _, key := range r.db.Keys(t.Context(), "ql:q:work-*").Val() {
		t.Errorf("%s is left", key)
	}
	r.note("jobs", n, "kills", kills, "told", ends)
}

// each does something to all of some, by several at once.
func each(some []int, do func(int)) {
	next := make(chan int)
	var parts sync.WaitGroup
	for range 4 {
		parts.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range some {
		next <- i
	}
	close(next)
	parts.Wait()
}

// post answers a job over HTTP, and tells what became of that; or that it has to be sent again.
func post(t *testing.T, client *http.Client, address, body string) (word queue.ResponseWord, again bool) {
	request, err := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return "", false
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return "", false
	}
	defer response.Body.Close()
	var said struct{ Word queue.ResponseWord }
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		t.Error(err)
	}
	if response.StatusCode == http.StatusServiceUnavailable {
		return "", true
	}
	if response.StatusCode >= 300 {
		t.Errorf("%s: %s", address, response.Status)
	}
	return said.Word, false
}
