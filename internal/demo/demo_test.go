package demo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// Both scripts and Count must agree on every kind of file.
func TestTheScriptsCountWhatCountCounts(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"empty": "", "no end": "a b", "blank lines": "\n\n\n", "tabs": "\ta\t\tb  c\n",
		"long": strings.Repeat("x", 5000) + "\nshort\n", "other": "naïve é\rsame line\f\v\n",
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, text, 0o600))
		return path
	}
	for name, script := range map[string][]string{
		"python": {"python3", write("count.py", countPython)},
		"shell":  {"sh", write("count.sh", countShell)},
	} {
		for file, text := range files {
			path := write(file, []byte(text))
			want := must.Get(Count(path))(t)
			job, _ := json.Marshal(path)
			cmd := exec.Command(script[0], script[1:]...)
			cmd.Stdin = strings.NewReader(string(job) + "\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, ok := Parse(out); !ok || got != want {
				t.Errorf("%s counts %+v in the file %q; want %+v", name, got, file, want)
			}
		}
	}
}

func TestCorpusIsSpreadOverAllFiles(t *testing.T) {
	dir := must.Get(Sources())(t)
	files, err := Corpus(dir, 100)
	if err != nil || len(files) != 100 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	packages := map[string]bool{}
	for _, file := range files {
		rel, err := filepath.Rel(dir, file)
		if err != nil || strings.Contains(rel, "testdata") {
			t.Errorf("picked %s, %v", rel, err)
		}
		packages[filepath.Dir(rel)] = true
	}
	if len(packages) < 30 {
		t.Errorf("only %d packages are in it", len(packages))
	}
}
