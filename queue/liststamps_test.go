package queue_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"oarlock/queue"
)

// utcTimes is how an hworker reads and writes times.
type utcTimes struct {
	Reads   string             `json:"reads"`   // what it takes for a time, whole
	Writes  map[string]float64 `json:"writes"`  // texts as its versions write them, and which time each is, in seconds since the epoch
	Refuses []string           `json:"refuses"` // what ends its monitor
}

// Every time that we write where an hworker reads is one that it can read, and is when it was; what it writes we read. One that it
// cannot read would end its monitor.
func TestHworkersReadOurTimes(t *testing.T) {
	text, err := os.ReadFile("testdata/utctime.json")
	if err != nil {
		t.Fatal(err)
	}
	var its utcTimes
	if err := json.Unmarshal(text, &its); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(its.Reads)
	for _, odd := range its.Refuses {
		if form.MatchString(odd) {
			t.Errorf("%s is no time", odd)
		}
	}
	w := newListed(t, hworker())
	ctx := t.Context()
	for stamp, at := range its.Writes {
		if !form.MatchString(stamp) {
			t.Errorf("%s is a time", stamp)
		}
		entry := queue.Envelope(stamp, []byte("1"))
		w.redis.HSet(ctx, "hworker-progress-mail", entry, stamp)
		found, err := w.c.ListInWork(ctx, "hworker:mail", 0, 9)
		if err != nil || len(found) != 1 || found[0].Since > at || found[0].Since <= at-0.001 {
			t.Errorf("%s is read as %+v (%v), want %f", stamp, found, err, at)
		}
		w.redis.HDel(ctx, "hworker-progress-mail", entry)
	}
	checked := 0
	began := time.Now()
	check := func(key string, from, to float64) { // all times in a hash are within from seconds after it began, and to seconds from now
		t.Helper()
		for entry, stamp := range w.redis.HGetAll(ctx, key).Val() {
			var text string
			if err := json.Unmarshal([]byte(stamp), &text); err != nil || !form.MatchString(stamp) {
				t.Errorf("%s has the time %s (%v)", entry, stamp, err)
				continue
			}
			at, err := time.Parse(time.RFC3339Nano, text)
			if ago := time.Until(at).Seconds(); err != nil || at.Sub(began).Seconds() < from || ago > to {
				t.Errorf("%s has the time %s, %.3f s from now (%v)", entry, stamp, ago, err)
			}
			checked++
		}
	}
	for n := range 50 { // each name of a worker makes other digits
		began = time.Now()
		w.s = w.session(queue.NewJID())
		w.push(mail(n))
		job := w.take(1)[0]
		check("hworker-progress-mail", -2, 1)
		if _, err := w.s.Renew(ctx, []queue.RenewItem{{JID: job.JID, Popped: job.Popped}}); err != nil {
			t.Fatal(err)
		}
		check("hworker-progress-mail", -2, 1)
		w.settle(job, queue.Settlement{Action: queue.Complete})
	}
	began = time.Now()
	w.push(mail(100), "garbage")
	w.settle(w.take(2)[0], queue.Settlement{Action: queue.Retry, Delay: 3 * time.Minute})
	check("hworker-progress-mail", 118, 121) // so it is abandoned in three minutes
	check("hworker-broken-mail", -2, 1)
	w.redis.Del(ctx, "hworker-progress-mail")
	w.redis.HSet(ctx, "hworker-progress-mail", mail(1), "no time")
	if _, err := w.c.MonitorList(ctx, w.list); err != nil {
		t.Fatal(err)
	}
	check("hworker-progress-mail", -2, 1)
	w.redis.LPush(ctx, "hworker-jobs-mail", "odd")
	if _, err := w.c.TakeIn(ctx, "hworker:mail", "q", 9, []queue.Intake{{Entry: "odd", Trouble: "it is odd"}}); err != nil {
		t.Fatal(err)
	}
	check("hworker-broken-mail", -2, 1)
	if checked != 50*2+1+1+1+2 {
		t.Errorf("%d times were checked", checked)
	}
}
