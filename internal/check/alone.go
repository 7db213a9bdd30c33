package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// concurrent are the directories of packages most of whose tests are one goroutine that asks Redis, or runs a command, one after the other: there can be
// no race in them, and under the detector they take four times as long. Each has the pattern of what a file of its tests contains in which several
// goroutines of ours run: its own, or those of what it opens; a supervisor, or what follows events.
var concurrent = map[string]*regexp.Regexp{
	"queue":           clientsBeside,
	"internal/doctor": clientsBeside,
	"internal/cli":    regexp.MustCompile(`\b(begin|ready)\(t, s\b|<- testProgram\(|\bsynctest\b`),
}

// costly are tests, with the directories of their packages, that play so many worlds, or have such large texts looked through, that the race detector makes
// minutes of them; or whose Redis is the embedded one, of which a call may then take longer than a command waits. What runs beside what in them does so in
// others of their packages, too, which run under it.
var costly = map[string]string{
	"TestOneChildAtAPlace":                           "supervisor",
	"TestBadJobsDelayGoodOnesByNoMoreThanIsPromised": "supervisor",
	"TestAJobThatWasPutAgainOrTakenBackRunsAnew":     "supervisor",
	"TestAMebibyteInEveryField":                      "internal/web",
	"TestDemoStaysOpenUntilItIsStopped":              "internal/cli",
	"TestDev":                                        "internal/cli",
	"TestDevBesideANamedRedis":                       "internal/cli",
	"TestDevShowsLinesAsAProcessManagerDoes":         "internal/cli",
	"TestPutFindsTheRedisOfDev":                      "internal/cli",
	"TestRunEmbedsWhereTheURLSaysSo":                 "internal/cli",
}

var (
	clientsBeside = regexp.MustCompile(`\bgo func\b|\bsync\.(WaitGroup|Mutex)\b|\bsynctest\b|\.Go\(|\bWatch|\bListen|\bNotices|\bEvents\(|\bQuestions\(|\.Ask\(`)
	aTest         = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// dirsAlone are the directories of the packages that have such tests.
func dirsAlone() (dirs []string) {
	dirs = slices.AppendSeq(slices.Collect(maps.Keys(concurrent)), maps.Values(costly))
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// testsAlone is a pattern of those tests that are costly, or of these packages and in files in which nothing runs beside anything; and that have a name
// which no test of another package has, for of those it would be the pattern, too.
func testsAlone() (string, error) {
	places := map[string]int{"TestMain": 2} // by name, how many packages have one
	var names []string
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.ToSlash(filepath.Dir(path))
		beside := concurrent[dir]
		alone := beside != nil && !beside.Match(text)
		for _, found := range aTest.FindAllStringSubmatch(string(text), -1) {
			places[found[1]]++
			if alone || costly[found[1]] == dir {
				names = append(names, found[1])
			}
		}
		return err
	})
	names = slices.DeleteFunc(names, func(name string) bool { return places[name] > 1 })
	return "^(" + strings.Join(names, "|") + ")$", err
}
