package rules

import (
	"reflect"
	"strings"
	"testing"

	"oarlock/internal/glob"
	"oarlock/internal/must"
)

func TestNeedsOfAJob(t *testing.T) {
	s := exampleSet()
	for _, tt := range []struct {
		name string
		job  Job
		want Needs
	}{
		{"of a class and a value", Job{Queue: "mail", Klass: "Pay", Data: []byte(`{"to":{"region":"east"}}`), Throttles: []string{"own", "erp"}},
			Needs{Ruled: true, Klass: "Pay", Weight: 2, Windows: []string{"night"}, Places: []Place{{ID: "own"}, {ID: "erp", Throttle: "erp"},
				{"region=east", "region", "east", false}, {"region", "region", "east", true}}, Order: s.Queues["mail"], FairBy: "/to/region", Value: "east"}},
		{"of a glob", Job{Queue: "mail", Klass: "ImageScale"}, Needs{Ruled: true, Klass: "Image*", Bypass: true, Weight: 1, Windows: []string{"night"}, Order: s.Queues["mail"]}},
		{"of a value without a share", Job{Queue: "mail", Klass: "K", Data: []byte(`{"to":{"region":"south"}}`)},
			Needs{Ruled: true, Weight: 1, Windows: []string{"night"}, Places: []Place{{"region=*", "region", "*", false}, {"region", "region", "*", true}}, Order: s.Queues["mail"], FairBy: "/to/region", Value: "*"}},
		{"elsewhere", Job{Queue: "other", Klass: "Pay", Throttles: []string{"erp"}}, Needs{Weight: 1, Places: []Place{{ID: "erp"}}, Order: DefaultQueue()}},
	} {
		if got := s.Needs(tt.job); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestValues(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tt := range []struct {
		by, data, want string
	}{
		{"/a", `{"a":"x y=z"}`, "x y=z"}, {"/a", `{"a":1e3}`, "1000"}, {"/a", `{"a":1.5}`, "1.5"}, {"/a", `{"a":123456789012345678}`, "1.2345678901235e+17"},
		{"/a", `{"a":true}`, "true"}, {"/a", `{"a":null}`, "-"}, {"/a", `{"a":[1]}`, "-"}, {"/a", `{"a":{}}`, "-"}, {"/a", `{}`, "-"}, {"/a", `[1]`, "-"},
		{"/a", `nothing`, "-"}, {"/a/1", `{"a":["x","y"]}`, "y"}, {"/a/2", `{"a":["x","y"]}`, "-"}, {"/a~1b/~0", `{"a/b":{"~":"z"}}`, "z"},
		{"/a", `{"a":"x","b":"` + strings.Repeat("y", MostData) + `"}`, "-"}, // as the gate has it
		{"$klass", `{}`, "K"}, {"$queue", `{}`, "q"}, {"$tag:t:", `{}`, "one"}, {"$tag:none:", `{}`, "-"},
	} {
		by := must.Get(parseBy(tt.by))(t)
		got := CompiledThrottle{}.value(by, Job{Queue: "q", Klass: "K", Data: []byte(tt.data), Tags: []string{"a", "t:one", "t:two"}})
		if got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.by, tt.data, got, tt.want)
		}
	}
	short, a, b := CompiledThrottle{}, Job{Klass: long}, Job{Klass: long + "y"}
	if x, y := short.value([]string{"klass"}, a), short.value([]string{"klass"}, b); len(x) != 64 || len(y) != 64 || x == y || x[:24] != long[:24] {
		t.Errorf("long ones are %q and %q", x, y)
	}
}

func TestGlobsOfClasses(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{{"*", "", true}, {"Mail*", "Mail", true}, {"Mail*", "Mai", false}, {"M?il", "Mail", true}, {"M?il", "Mil", false}, {"a.b*", "axb", false}, {"*[", "x[", true}, {"a*", "a\n\xff", true},
		{"K?", "Kä", false}, {"K??", "Kä", true}, {"*a*", "bab", true}, {"*a*", "bb", false}, {"", "", true}, {"?", "", false}} {
		if glob.Match(tt.glob, tt.name) != tt.want {
			t.Errorf("%q stands for %q: %v", tt.glob, tt.name, !tt.want)
		}
	}
}
