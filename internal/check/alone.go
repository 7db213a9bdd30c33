package main

import (
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

var (
	clientsBeside = regexp.MustCompile(`\bgo func\b|\bsync\.(WaitGroup|Mutex)\b|\bsynctest\b|\.Go\(|\bWatch|\bListen|\bNotices|\bEvents\(|\bQuestions\(|\.Ask\(`)
	aTest         = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// testsAlone is a pattern of those tests of these packages that stand in files in which nothing runs beside anything; and that have a name which no test
// of another package has, for of those it would be the pattern, too.
func testsAlone() (string, error) {
	places := map[string]int{"TestMain": 2} // by name, how many packages have one
	var names []string
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		beside := concurrent[filepath.ToSlash(filepath.Dir(path))]
		alone := beside != nil && !beside.Match(text)
		for _, found := range aTest.FindAllStringSubmatch(string(text), -1) {
			places[found[1]]++
			if alone {
				names = append(names, found[1])
			}
		}
		return err
	})
	names = slices.DeleteFunc(names, func(name string) bool { return places[name] > 1 })
	return "^(" + strings.Join(names, "|") + ")$", err
}
