package queue

import (
	"fmt"
	"strings"
	"testing"
)

// TestThrottlesOfValues: a value that ends like a key is one like any other, the limit of a queue holds whatever its name, and no job names a
// throttle that is of a value of another.
func TestThrottlesOfValues(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{
		"q":   `{"shape":"a","throttles":["region"],"by":{"region":["path","r"]}}`,
		"a=b": `{"shape":"b","limited":true,"limit_of_queue":1}`,
	}, map[string]string{"region": `{"each":1,"by":["path","r"]}`})
	values := []string{"x", "x-locks", "x-pending", "x=y", "x=y-locks"}
	w.put(putsOf(3*len(values), func(i int) Put {
		return Put{JID: fmt.Sprint("j", i), Queue: "q", Klass: "K", Data: fmt.Appendf(nil, `{"r":%q}`, values[i%len(values)])}
	})...)
	for turn := range 3 {
		var jobs []Taken
		for range len(values) { // each knows what those before it wrote
			jobs = append(jobs, w.take("w", 1, "q")...)
		}
		if more := w.take("w", 1, "q"); len(jobs) != len(values) || len(more) > 0 {
			t.Fatalf("turn %d: %d run, and %d more, want one of each value", turn, len(jobs), len(more))
		}
		w.exchange("w", done(jobs...), Take{})
	}
	w.put(putsOf(6, func(i int) Put { return Put{JID: fmt.Sprint("k", i), Queue: "a=b", Klass: "K"} })...)
	jobs := w.take("w", 6, "a=b")
	for turn := range 6 {
		if len(jobs) != 1 {
			t.Fatalf("turn %d: of a queue with limit 1 run %d", turn, len(jobs))
		}
		jobs = w.exchange("w", done(jobs...), Take{Queues: []string{"a=b"}, Count: 6}).Jobs
	}
	raw := w.call("put", appendPuts([]any{"w"}, []Put{{JID: "own", Queue: "q", Klass: "K", Throttles: []string{"region=x"}}})...)
	if said := fmt.Sprint(raw.([]any)[0]); !strings.Contains(said, "region=x has the key of a value of throttle region") {
		t.Errorf("a job that names the throttle of a value: %s", said)
	}
}

// TestThrottlesOfFairQueues: no job names a throttle that a fair queue counts its values by.
func TestThrottlesOfFairQueues(t *testing.T) {
	w := newGateWorld(t)
	rules := func(name string) string { return strings.ReplaceAll(fairRules, "fair:q", "fair:"+name) }
	w.rule(map[string]string{"q": fairRules, "a=b": rules("a=b"), "plain": `{"shape":"b","limited":true,"limit_of_queue":1}`}, nil)
	n := 0
	for throttle, of := range map[string]string{"fair:q": "q", "fair:q=acme": "q", "fair:q=x=y": "q", "fair:a=b": "a=b", "fair:a=b=c": "a=b", "fair:a=c": "", "fair:qq=x": "", "fair:plain=x": "", "fair:": "", "fairness": ""} {
		n++
		raw := w.call("put", appendPuts([]any{"w"}, []Put{{JID: fmt.Sprint("own", n), Queue: "other", Klass: "K", Throttles: []string{throttle}}})...)
		refused := strings.Contains(fmt.Sprint(raw.([]any)[0]), "throttle "+throttle+" has a key of fair queue "+of+";")
		if refused != (of != "") {
			t.Errorf("%d %s: %v", n, throttle, raw.([]any)[0])
		}
	}
}
