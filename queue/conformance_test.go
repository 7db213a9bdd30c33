package queue

import (
	"strings"
	"testing"
)

// deviations are the recorded scenarios that we mean to differ from, with the
// reason. All are of the recorded scripts' defects that may be mended.
var deviations = map[Dialect]map[string]string{
	Qless: {
		"bad tags on an existing job have already cost it its tags":      "a refused put changes nothing",
		"a bad priority on an existing job has already cost it its tags": "a refused put changes nothing",
		"bad retries on a running job":                                   "a refused put changes nothing",
		"tags that are a number":                                         "a refused put changes nothing",
		"an infinite priority poisons the job":                           "numbers that JSON cannot show are refused",
		"a priority that is not a number at all":                         "numbers that JSON cannot show are refused",
		"a log entry whose data is a string poisons the job":             "data that would make the job unreadable is refused",
		"a log entry whose data is null poisons the job":                 "data that would make the job unreadable is refused",
		"a job that depends on itself":                                   "it would never run; the dependency is ignored",
		"fractional retries":                                             "they are rounded down where they are counted",
		"settings that are not numbers break what reads them":            "they count as not set",
		"a history limit that is not a number breaks puts":               "it counts as not set",
	},
	Reqless: {
		"a limit that is not a number":              "it is refused",
		"fractional retries":                        "they are rounded down where they are counted",
		"commands of the other dialect are unknown": "one script answers to the names of both dialects",
	},
}

// TestConformance replays what the scripts of qless and reqless were recorded to
// do: replies, messages and the whole keyspace.
func TestConformance(t *testing.T) {
	ways := []struct {
		name, server, namespace string
		run                     call
	}{
		{"unified", "redis", DefaultNamespace, callUnified},
		{"scripts", "redis", DefaultNamespace, callScript},
		{"other namespace", "redis", "{x}:", callScript},
		{"embedded", "embedded", DefaultNamespace, callScript},
	}
	for n, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			l := newLab(t, way.server, way.namespace)
			for _, dialect := range []Dialect{Qless, Reqless} {
				for family, list := range scenarios(t, dialect) {
					if family == "dispatch" && way.name != "unified" {
						continue // about the unified script's envelope
					}
					for i, s := range list {
						if testing.Short() && i%len(ways) != n && family != "dispatch" {
							continue // the gate goes one of the ways with each
						}
						reason, differs := deviations[dialect][s.Name]
						wrong := l.replay(t, dialect, s, way.run)
						switch {
						case !differs && len(wrong) > 0:
							t.Errorf("%s/%s: %s\n%s", dialect, family, s.Name, strings.Join(wrong, "\n"))
						case differs && len(wrong) == 0:
							t.Errorf("%s/%s: %s: as recorded, although %s", dialect, family, s.Name, reason)
						}
					}
				}
			}
		})
	}
}
