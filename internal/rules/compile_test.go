package rules

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestCompiledIsWhatTheScriptsRead(t *testing.T) {
	c := Compile(exampleSet())
	for what, texts := range map[string][2]any{
		"erp":    {c.Throttles["erp"], `{"limit":10,"rate":[100,10,20],"free":true,"patience":60}`},
		"region": {c.Throttles["region"], `{"limit":100,"patience":60,"by":["path","to","region"],"shares":{"east":0.4,"north":0.3,"west":0.3},"borrow":true,"keep":2}`},
		"mail": {c.Queues["mail"], `{"shape":"` + c.Queues["mail"].Shape + `","limited":true,"throttles":["region"],"by":{"region":["path","to","region"]},` +
			`"windows":[{"name":"night","spec":"Europe/Berlin|Mon-Fri 22:00-06:00|-2026-12-24","margin":600,"stop":true}],` +
			`"klass":{"Pay":{"weight":2,"throttles":["erp"]}},"globs":[{"glob":"Image*","klass":{"weight":1,"bypass":true}}],"slice":60}`},
		"images": {c.Queues["images"], `{"shape":"` + c.Queues["images"].Shape + `","by":{"region":["path","to","region"]},"globs":[{"glob":"Image*","klass":{"weight":1,"bypass":true}}]}`},
	} {
		if text, _ := json.Marshal(texts[0]); string(text) != texts[1] {
			t.Errorf("%s is\n%s, want\n%s", what, text, texts[1])
		}
	}
	if len(c.Queues) != 2 || c.Queues["mail"].Limit != 10 || c.LowFirst != nil {
		t.Errorf("%d queues, limit %d, low first: %v", len(c.Queues), c.Queues["mail"].Limit, c.LowFirst)
	}
}

// TestFairQueues: fair_by is one throttle more, without rules of its own, and makes a queue ruled; a change of weights moves no job.
func TestFairQueues(t *testing.T) {
	s := exampleSet()
	q := s.Queues["mail"]
	q.Windows, q.Limit, q.First, q.Slice, q.FairBy = nil, 0, "priority", 1, "/tenant"
	s.Queues["mail"], s.Queues["plain"], s.Klass = q, Queue{FairBy: "$klass"}, nil
	c := Compile(s)
	shape := c.Queues["mail"].Shape
	want := `{"shape":"` + shape + `","throttles":["fair:mail","region"],"by":{"fair:mail":["path","tenant"],"region":["path","to","region"]},"fair":"fair:mail"`
	if text, _ := json.Marshal(c.Queues["mail"]); string(text) != want+"}" {
		t.Errorf("mail is\n%s, want\n%s", text, want+"}")
	}
	if q := c.Queues["plain"]; q.Fair != "fair:plain" || len(q.By) != 2 || len(c.Throttles) != 2 {
		t.Errorf("plain is %+v", q)
	}
	q.FairWeights = map[string]int{"big": 4}
	s.Queues["mail"] = q
	c = Compile(s)
	if text, _ := json.Marshal(c.Queues["mail"]); string(text) != want+`,"weights":{"big":4}}` {
		t.Errorf("with weights mail is\n%s", text)
	}
	n := s.Needs(Job{Queue: "mail", Klass: "K", Data: []byte(`{"tenant":"acme","to":{"region":"east"}}`)})
	if n.FairBy != "/tenant" || n.Value != "acme" || len(n.Places) != 2 || n.Places[0].ID != "region=east" {
		t.Errorf("a job needs %+v", n)
	}
	if by, others := s.FairBy("mail"); by != "/tenant" || len(others) != 1 || others[0] != "region" {
		t.Errorf("it is fair by %s, and not by %v", by, others)
	}
	if by, others := exampleSet().FairBy("mail"); by != "/to/region" || others != nil {
		t.Errorf("of a throttle it is fair by %s, and not by %v", by, others)
	}
}

// The shape changes with what a job needs, and with nothing else.
func TestShape(t *testing.T) {
	shape := func(change func(*Set)) string {
		s := exampleSet()
		change(&s)
		return Compile(s).Queues["mail"].Shape
	}
	usual := shape(func(*Set) {})
	for what, change := range map[string]func(*Set){
		"weight": func(s *Set) { k := s.Klass["Pay"]; k.Weight = 3; s.Klass["Pay"] = k },
		"by":     func(s *Set) { r := s.Throttles["region"]; r.By = "/region"; s.Throttles["region"] = r },
		"queue":  func(s *Set) { q := s.Queues["mail"]; q.Throttles = []string{"region", "erp"}; s.Queues["mail"] = q },
		"limit":  func(s *Set) { q := s.Queues["mail"]; q.Limit = 0; s.Queues["mail"] = q },
	} {
		if shape(change) == usual {
			t.Errorf("%s does not change the shape", what)
		}
	}
	for what, change := range map[string]func(*Set){
		"windows": func(s *Set) { q := s.Queues["mail"]; q.Windows = nil; s.Queues["mail"] = q },
		"slice":   func(s *Set) { q := s.Queues["mail"]; q.Slice = 5; s.Queues["mail"] = q },
		"rate":    func(s *Set) { r := s.Throttles["erp"]; r.Rate = ""; s.Throttles["erp"] = r },
	} {
		if shape(change) != usual {
			t.Errorf("%s changes the shape", what)
		}
	}
}

func TestQueuesThatNothingIsSaidOfAreNotRuled(t *testing.T) {
	low, aged := DefaultQueue(), DefaultQueue()
	low.Priority, aged.Ageing = "low-first", 60
	k := DefaultKlass()
	k.Queues = []string{"plain"}
	c := Compile(Set{Queues: map[string]Queue{"plain": DefaultQueue(), "low": low, "aged": aged}, Klass: map[string]Klass{"K": k}})
	if len(c.Queues) != 1 || c.Queues["aged"].Ageing != 60 || !reflect.DeepEqual(c.LowFirst, []string{"low"}) {
		t.Errorf("ruled are %v, low first %v", c.Queues, c.LowFirst)
	}
}

func TestTheMostLiteralGlobComesFirst(t *testing.T) {
	k := DefaultKlass()
	k.Queues, k.Weight = []string{"q"}, 2
	c := Compile(Set{Klass: map[string]Klass{"*": k, "Mail*": k, "Ma*": k, "Mail?": k}})
	var order []string
	for _, g := range c.Queues["q"].Globs {
		order = append(order, g.Glob)
	}
	if !reflect.DeepEqual(order, []string{"Mail*", "Mail?", "Ma*", "*"}) {
		t.Errorf("in this order: %q", order)
	}
}

// A share is rounded down, and nobody is locked out.
func TestCaps(t *testing.T) {
	region := Compile(exampleSet()).Throttles["region"]
	for limit, want := range map[int]map[string]int{
		100: {"east": 40, "north": 30, "west": 30, "*": 1}, 10: {"east": 4, "north": 3, "west": 3, "*": 1}, 2: {"east": 1, "north": 1, "west": 1, "*": 1},
	} {
		if caps := region.Caps(limit); !reflect.DeepEqual(caps, want) {
			t.Errorf("of %d: %v, want %v", limit, caps, want)
		}
	}
	if caps := (CompiledThrottle{Limit: 5}).Caps(5); caps != nil {
		t.Errorf("without shares: %v", caps)
	}
}

// What holds for new jobs of a class is that of the most literal table, whole.
func TestWhatHoldsForNewJobs(t *testing.T) {
	if c := Compile(exampleSet()); c.Puts != nil {
		t.Errorf("of tables that say nothing of it: %+v", c.Puts)
	}
	pay, all, plain := DefaultKlass(), DefaultKlass(), DefaultKlass()
	pay.Priority, pay.Correlation, pay.OnLive = 2.5, "/order/id", "existing"
	all.Retries, plain.Weight = 0, 2
	c := Compile(Set{Klass: map[string]Klass{"Pay": pay, "*": all, "Plain": plain}})
	want := `{"klass":{"Pay":{"priority":"2.5","correlation":["path","order","id"],"existing":true},"Plain":{}},"globs":[{"glob":"*","klass":{"retries":"0"}}]}`
	if text, _ := json.Marshal(c.Puts); string(text) != want {
		t.Errorf("it is\n%s, want\n%s", text, want)
	}
}
