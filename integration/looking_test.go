package integration

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

// What looking costs, in a small size, by what no machine changes: what is asked of Redis, and what is given back. `oarlock
// bench web --full` measures the rest.
func TestWhatLookingCosts(t *testing.T) {
	long(t, "it measures what looking costs")
	t.Parallel()
	cmd := exec.Command(oarlock(t), "bench", "web", "--json", "--jobs", "1000", "--queues", "20", "--pools", "3", "--views", "99",
		"--watchers", "40", "--pairs", "1", "--window", "300ms", "--scrapes", "1")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	var f struct {
		Views []struct {
			Name  string `json:"name"`
			Count int    `json:"count"`
			Bytes int    `json:"bytes"`
			Calls int    `json:"redis_calls"`
		} `json:"views"`
		Watched struct {
			Ratio       float64 `json:"ratio"`
			Margin      float64 `json:"lease_margin_ratio"`
			Views       int     `json:"views"`
			Frames      int     `json:"frames"`
			Few         float64 `json:"calls_few"`
			Many        float64 `json:"calls_many"`
			Goroutines  float64 `json:"goroutines"`
			Descriptors float64 `json:"descriptors"`
		} `json:"watched"`
		Scrape struct {
			Samples int `json:"samples"`
		} `json:"scrape"`
		Targets []struct{ Name string } `json:"targets"`
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	count := 0
	for _, v := range f.Views {
		count += v.Count
		most := 8 // one of them asks what the key space needs, one who works the queue
		if slices.Contains([]string{"/throttles", "/api/v1/stats"}, v.Name) {
			most = 20 // these look through all there are
		}
		if v.Calls < 0 || v.Calls > most {
			t.Errorf("%s asks Redis %d times", v.Name, v.Calls)
		}
		if v.Count > 0 && (v.Bytes == 0 || v.Bytes > 100<<10) {
			t.Errorf("%s is %d bytes", v.Name, v.Bytes)
		}
	}
	if w := f.Watched; count != 99 || w.Frames < 40 || w.Ratio <= 0 || w.Margin <= 0 || w.Margin > 3 || len(f.Targets) == 0 {
		t.Errorf("%d views, %d frames, ratio %v, margin %v, %d targets", count, w.Frames, w.Ratio, w.Margin, len(f.Targets))
	} else if w.Many > 1.5*w.Few+5 {
		t.Errorf("%.1f calls of Redis a second for 40 watchers, %.1f for one of each view", w.Many, w.Few)
	} else if w.Goroutines > 10 || w.Descriptors > 10 {
		t.Errorf("the watchers left %v goroutines and %v descriptors", w.Goroutines, w.Descriptors)
	}
	if n := f.Scrape.Samples; n < 100 || n > 3*100+300 {
		t.Errorf("a scrape of 3 pools has %d samples", n)
	}
}
