package queue_test

import "testing"

// What an hworker leaves when it looks into an empty list is no entry, and no work.
func TestListPassesOverNothing(t *testing.T) {
	w := newListed(t, hworker())
	w.push(mail(1), mail(2))
	w.take(1)
	w.redis.HSet(t.Context(), "hworker-progress-mail", "false", `"2026-01-01T00:00:00.000000000000Z"`)
	if got, want := w.counts(), "1 waiting, 1 in work, 0 failed, 0 broken"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	entries, err := w.c.ListInWork(t.Context(), w.list.Name, 0, 10)
	if err != nil || len(entries) != 1 {
		t.Errorf("in work: %+v, %v", entries, err)
	}
}
