package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// models is the package most of whose tests are one goroutine that asks Redis one thing after the other: there can be no race in them, and under the
// detector they take four times as long.
const models = "queue"

var (
	// concurrent matches what a file of tests has of which several goroutines run: its own, or those of what it opens.
	concurrent = regexp.MustCompile(`\bgo func\b|\bsync\.|\bsynctest\b|\.Go\(|\.Session\(|\bWatch|\bListen|\bNotices|\bEvents\(`)
	aTest      = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// testsAlone is a pattern of those tests of a package, of a directory of that name, that stand in files in which nothing runs beside anything; and that have
// a name which no test of another package has, for of those it would be the pattern, too.
func testsAlone(dir string) (string, error) {
	var names []string
	others := map[string]bool{"TestMain": true}
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		here := filepath.Dir(path) == dir
		for _, found := range aTest.FindAllStringSubmatch(string(text), -1) {
			switch {
			case !here:
				others[found[1]] = true
			case !concurrent.Match(text):
				names = append(names, found[1])
			}
		}
		return err
	})
	names = slices.DeleteFunc(names, func(name string) bool { return others[name] })
	return "^(" + strings.Join(names, "|") + ")$", err
}
