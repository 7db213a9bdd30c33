// Package demo shows a supervisor at work: Go's own source files become jobs, a script counts what is in each, and the
// same count done directly checks the outcome. It owns the script, the trouble that it makes, and the supervisor while
// Run lasts. It must not know the command line, a configuration, or where its Redis comes from.
package demo

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed count.py
var countPython []byte

//go:embed count.sh
var countShell []byte

// Script writes the counting script into dir and gives the command that runs it: Python
// if there is one, the shell and awk otherwise.
func Script(dir string) (command []string, err error) {
	// A python3 in PATH is often a wrapper that takes longer to start than Python does.
	out, err := exec.Command("python3", "-I", "-c", "import sys; print(sys.executable)").Output()
	if python := strings.TrimSpace(string(out)); err == nil && python != "" {
		path := filepath.Join(dir, "count.py")
		// The script needs no packages, and finding them is most of Python's start.
		return []string{python, "-S", path}, os.WriteFile(path, countPython, 0o600)
	}
	if _, err := exec.LookPath("awk"); err != nil {
		return nil, errors.New("the demo needs python3, or sh with awk")
	}
	path := filepath.Join(dir, "count.sh")
	return []string{"sh", path}, os.WriteFile(path, countShell, 0o600)
}

// Sources gives the directory of Go's own source files.
func Sources() (string, error) {
	root := os.Getenv("GOROOT")
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		root = strings.TrimSpace(string(out))
	}
	if root == "" {
		return "", errors.New("there is no Go here whose source files could be counted; name a directory with --dir")
	}
	return filepath.Join(root, "src"), nil
}

// Corpus picks n Go files under dir, spread over all of them, or as many as there are.
// Test data is left out: some of it is no text.
func Corpus(dir string, n int) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.Type().IsRegular() && filepath.Ext(path) == ".go":
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no Go files under %s", dir)
	}
	n = min(n, len(all))
	picked := make([]string, n)
	for i := range picked {
		picked[i] = all[i*len(all)/n]
	}
	return picked, nil
}

// Tally is what is in one file, or in many.
type Tally struct {
	Lines, Words, Bytes int
	Longest             int // bytes of the longest line, without its end
}

// Add makes t the tally of both.
func (t *Tally) Add(other Tally) {
	t.Lines += other.Lines
	t.Words += other.Words
	t.Bytes += other.Bytes
	t.Longest = max(t.Longest, other.Longest)
}

// Count tallies the file path directly.
func Count(path string) (Tally, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Tally{}, err
	}
	t := Tally{Bytes: len(text)}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		t.Lines++
		t.Words += len(bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }))
		t.Longest = max(t.Longest, len(line))
	}
	return t, nil
}

// Parse reads a tally as the scripts print it: lines, words, bytes, longest line.
func Parse(line []byte) (t Tally, ok bool) {
	n, err := fmt.Sscan(string(line), &t.Lines, &t.Words, &t.Bytes, &t.Longest)
	return t, err == nil && n == 4
}
