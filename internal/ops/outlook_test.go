package ops

import (
	"math"
	"strings"
	"testing"

	"oarlock/queue"
)

// world makes looks at a queue into which so many jobs a second come, and of which so many are completed, with a run each of
// some seconds by so many children.
func world(waiting, in, out, run float64, children int) (looks []Look) {
	done := 100_000.0
	for at := 0.0; at <= 300; at += 10 {
		looks = append(looks, Look{At: 1e9 + at, Waiting: int(waiting + (in-out)*at), Running: children, Completed: int(done + out*at), Ran: (done + out*at) * run})
	}
	return looks
}

func TestForecast(t *testing.T) {
	within := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.2*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	o := Forecast(world(6000, 5, 15, 2, 30), "")
	if o.Word != "empties" {
		t.Fatalf("%+v", o)
	}
	within("empty in", o.EmptyIn, 300) // 3,000 wait then, 10 a second less
	within("if no more came", o.AtBest, 200)

	o = Forecast(world(100, 20, 15, 2, 30), "")
	if o.Word != "grows" || math.Abs(float64(o.Children-40)) > 1 {
		t.Errorf("growing: %+v", o)
	}
	within("grows by", o.GrowsBy, 300)

	o = Forecast(world(100, 15, 15, 2, 30), "")
	if o.Word != "steady" || math.Abs(float64(o.Children-30)) > 1 {
		t.Errorf("steady: %+v", o)
	}
	// Long jobs hold all three children; those that ended in between were short.
	looks := world(100, 1, 0.02, 1, 3)
	if o = Forecast(looks, ""); o.Word != "grows" || o.Children < 100 || !strings.Contains(o.Says, "3 at work") {
		t.Errorf("more children are needed than those with which it grows: %+v", o)
	}
	for word, looks := range map[string][]Look{
		"measuring": world(100, 1, 2, 1, 1)[:2], "empty": {{At: 1}, {At: 2}, {At: 3}}, "paused": {{At: 1, Waiting: 3, Paused: true}},
	} {
		if o := Forecast(looks, ""); o.Word != word || o.Says == "" {
			t.Errorf("%s: %+v", word, o)
		}
	}
	if o := Forecast(world(100, 1, 2, 1, 1), "nobody listens"); o.Word != "held" || !strings.Contains(o.Says, "nobody listens") {
		t.Errorf("%+v", o)
	}
	if o := Forecast(nil, ""); o.Word != "measuring" {
		t.Errorf("%+v", o)
	}
	if o := Forecast(world(100, 0, 0, 0, 0), ""); o.Word != "steady" || o.Children != 0 || strings.Contains(o.Says, "child") {
		t.Errorf("where nothing goes: %+v", o)
	}
}

// At midnight the counters begin anew.
func TestForecastOverMidnight(t *testing.T) {
	looks := world(6000, 5, 15, 2, 30)
	for i := 15; i < len(looks); i++ {
		looks[i].Completed -= looks[14].Completed
		looks[i].Ran -= looks[14].Ran
	}
	if o := Forecast(looks, ""); math.Abs(o.Completed-900) > 90 || math.Abs(o.MeanRun-2) > 0.2 {
		t.Errorf("%+v", o)
	}
}

func TestLooksForgetWhatIsOld(t *testing.T) {
	var l Looks
	census := func(name string, waiting int) []queue.QueueCensus {
		return []queue.QueueCensus{{QueueCounts: queue.QueueCounts{Name: name, Waiting: waiting}}}
	}
	for at := range 1000 {
		l.Add(census("q", 2000-at), float64(at))
	}
	l.Add(census("other", 1), 1000)
	o := l.Outlook("q", "")
	if o.Word != "empties" || o.Looks > 70 || o.Over < 290 || o.Over > 300 || o.Waiting != 1001 {
		t.Errorf("%+v", o)
	}
	l.Add(census("other", 1), 1400)
	if o := l.Outlook("q", ""); o.Looks != 0 {
		t.Errorf("a queue that is gone: %+v", o)
	}
	if o := l.Outlook("never seen", ""); o.Word != "measuring" {
		t.Errorf("%+v", o)
	}
}
