package accord

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/rules"
)

// opensAt is a file with windows that are open so, in UTC.
func opensAt(windows map[string]string) rules.File {
	s := rules.Set{Windows: map[string]rules.Window{}}
	for name, open := range windows {
		s.Windows[name] = rules.Window{Zone: "UTC", Open: []string{open}}
	}
	return rules.File{Owner: "a", Set: s}
}

// A window that opens, or shuts, is told of at that second, once, and of how all of them stand the keeper tells whoever asks; one that is
// taken out of the rules is told of no more.
func TestWindowsAreToldAsTheyOpenAndShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		k := NewKeeper(f, func(context.Context) {}, func(bool) {}, slog.New(slog.DiscardHandler))
		var mu sync.Mutex
		var told []string
		k.TellWindows(func(w Opening) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %v %s", w.Name, w.Open, time.Now().UTC().Format("02 15:04:05")))
		})
		k.Set(opensAt(map[string]string{"night": "03:00-04:00", "always": "00:00-24:00"}))
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = k.Run(ctx) })
		time.Sleep(time.Minute) // the bubble begins at midnight
		synctest.Wait()
		day := time.Now().UTC().Truncate(24 * time.Hour)
		want := []Opening{{Name: "always", Open: true}, {Name: "night", Opens: day.Add(3 * time.Hour)}}
		if got := k.Windows(); !slices.EqualFunc(got, want, same) {
			t.Errorf("they stand %+v, want %+v", got, want)
		}
		time.Sleep(3*time.Hour + 30*time.Minute)
		synctest.Wait()
		if got := k.Windows(); len(got) != 2 || !got[1].Open || !got[1].Shuts.Equal(day.Add(4*time.Hour)) || !got[1].Opens.Equal(day.Add(27*time.Hour)) {
			t.Errorf("at half past three they stand %+v", got)
		}
		time.Sleep(time.Hour)
		k.Set(opensAt(map[string]string{"always": "00:00-24:00"}))
		time.Sleep(24 * time.Hour)
		stop()
		all.Wait()
		if want := []string{"night true 01 03:00:00", "night false 01 04:00:00"}; !slices.Equal(told, want) {
			t.Errorf("told is %q, want %q", told, want)
		}
		if got := k.Windows(); len(got) != 1 || got[0].Name != "always" {
			t.Errorf("at last there are %+v", got)
		}
	})
}

func same(a, b Opening) bool {
	return a.Name == b.Name && a.Open == b.Open && a.Opens.Equal(b.Opens) && a.Shuts.Equal(b.Shuts)
}
