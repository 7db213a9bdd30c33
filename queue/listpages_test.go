package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"oarlock/queue"
)

// Lists are found a part at a time among many other keys: all of them in the end, each part of no more keys than a moment takes; and a cursor
// that is none of ours is refused.
func TestListsAreFoundInParts(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		pipe := c.Redis().Pipeline()
		var want []string
		for i := range 200 {
			pipe.LPush(t.Context(), fmt.Sprintf("hworker-jobs-%03d", i), "[1,2]")
			pipe.HSet(t.Context(), fmt.Sprintf("ql:oarlock:broken:plain-%03d", i), "x", "1")
			want = append(want, fmt.Sprintf("hworker:%03d", i), fmt.Sprintf("plain-%03d", i))
		}
		for i := range 1000 {
			pipe.Set(t.Context(), fmt.Sprint("noise-", i), 1, 0)
		}
		_, err := pipe.Exec(t.Context())
		ok(t, err)
		slices.Sort(want)
		var found []string
		parts := 0
		for cursor := ""; ; parts++ {
			some, next, err := c.KnownListsFrom(t.Context(), cursor)
			ok(t, err)
			if len(some) > 500 {
				t.Errorf("a part has %d lists", len(some))
			}
			found = append(found, some...)
			if cursor = next; cursor == "" {
				break
			}
		}
		slices.Sort(found)
		equal(t, "found in parts", slices.Compact(found), want)
		if parts < 1 {
			t.Error("all came in one part")
		}
		known, err := c.KnownLists(t.Context())
		ok(t, err)
		equal(t, "found at once", known, want)
		for _, cursor := range []string{"x", "9 0", "0", "0 x", "-1 0", "0 0 0", "\x00"} {
			if _, _, err := c.KnownListsFrom(t.Context(), cursor); !errors.Is(err, queue.ErrCursor) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		for name, want := range map[string]bool{"hworker:none": true, "plain-007": true, "noise-1": false, "none": false, "ql:oarlock:broken:plain-007": false} {
			shows, err := c.ShowsList(t.Context(), name)
			ok(t, err)
			equal(t, name, shows, want)
		}
	})
}
