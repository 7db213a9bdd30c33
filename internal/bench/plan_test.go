package bench

import (
	"slices"
	"testing"

	"oarlock/internal/config"
)

func ptr[T any](v T) *T { return &v }

func TestWhatIsWantedIsPlanned(t *testing.T) {
	p, err := Wanted{Jobs: ptr(7), Latency: 3}.Plan()
	if err != nil || p.One || p.Latency != 3 || len(p.Series) != len(usual()) || slices.ContainsFunc(p.Series, func(s Series) bool { return s.Jobs != 7 }) {
		t.Errorf("the usual with 7 jobs each: %+v, %v", p, err)
	}
	p, err = Wanted{Children: ptr(5), Command: ptr("sh -c true")}.Plan()
	if err != nil || !p.One || len(p.Series) != 1 || p.Series[0].Shape.Mode != "reuse" || p.Series[0].Shape.Children != 5 || p.Series[0].Shape.Prefetch != int(config.AutoPrefetch) || len(p.Series[0].Shape.Command) != 3 {
		t.Errorf("one series: %+v, %v", p, err)
	}
	for want, w := range map[string]Wanted{
		"--jobs and --latency must be 0 or more":                                                 {Jobs: ptr(-1)},
		"--profile is for one series; choose it with --mode, --children, --prefetch and --batch": {Profile: "x"},
		"--list goes without --profile, --batch and --prefetch":                                  {Lists: true, Batch: ptr(2)},
		"--list needs --jobs of 1 or more":                                                       {Lists: true, Jobs: ptr(0)},
		"--against goes without --list, --keys and --profile":                                    {Lists: true, Against: true},
		"--against needs --jobs of 1 or more":                                                    {Jobs: ptr(0), Against: true},
		"--children must be 1 or more, and --prefetch 0 or more":                                 {Children: ptr(0)},
		"--prefetch is for --mode reuse; children of mode once work one job":                     {Mode: ptr("once"), Prefetch: ptr(2)},
		"--command does not start: exec: \"nosuchthing\": executable file not found in $PATH":    {Command: ptr("nosuchthing")},
	} {
		if _, err := w.Plan(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", w, err, want)
		}
	}
}
