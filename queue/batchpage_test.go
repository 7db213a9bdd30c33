package queue

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestBatchPageIsWhole compares BATCH.md with the scripts: each batch command has a row, and each
// option and field of ours that the Lua names is on the page.
func TestBatchPageIsWhole(t *testing.T) {
	text, err := os.ReadFile("BATCH.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	named := regexp.MustCompile(`named(?:\.([a-z]+)|\['([a-z-]+)'\])`)
	field := regexp.MustCompile(`'(oarlock-[a-z]+)'`)
	lua := os.DirFS("lua")
	err = fs.WalkDir(lua, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(lua, file)
		if err != nil {
			return err
		}
		if command, found := strings.CutPrefix(file, "batch/"); found {
			if row := "| `" + strings.TrimSuffix(command, ".lua") + "` |"; !strings.Contains(page, row) {
				t.Errorf("no row %s", row)
			}
		}
		words := field.FindAllStringSubmatch(string(source), -1)
		if strings.HasPrefix(file, "batch/") || file == "lib/settle.lua" || file == "lib/enter.lua" {
			words = append(words, named.FindAllStringSubmatch(string(source), -1)...)
		}
		for _, word := range words {
			name := strings.Join(word[1:], "")
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s knows %s, the page does not", file, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
