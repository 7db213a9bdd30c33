package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPathOfAJob asks for each function that ARCHITECTURE.md names on the path of a job.
func TestPathOfAJob(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| step | where | what it does |")
	table, _, _ = strings.Cut(table, "\n## ")
	var code strings.Builder
	for _, dir := range []string{"queue", "runner", "supervisor"} {
		err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			code.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := 0
	for _, name := range regexp.MustCompile("`([a-zA-Z./]+)`").FindAllStringSubmatch(table, -1) {
		if strings.Contains(name[1], "/") { // a place
			matches, _ := filepath.Glob("*/" + name[1])
			deeper, _ := filepath.Glob("*/*/" + name[1])
			if _, err := os.Stat(name[1]); err != nil && len(matches)+len(deeper) == 0 {
				t.Errorf("there is no %s", name[1])
			}
			continue
		}
		parts := strings.Split(name[1], ".")
		if len(parts) < 2 || parts[len(parts)-1] == "Job" || parts[len(parts)-1] == "Ending" { // a type
			continue
		}
		kind, method := parts[len(parts)-2], parts[len(parts)-1]
		is := regexp.MustCompile(`func (\(\w* ?\*?` + kind + `\) )?` + method + `\(|\n\t` + method + `\(c \*Child`)
		if named++; !is.MatchString(code.String()) {
			t.Errorf("there is no %s", name[1])
		}
	}
	if named < 15 {
		t.Errorf("only %d functions are named", named)
	}
}
