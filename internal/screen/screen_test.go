package screen

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Microsecond: "2ms", 2345 * time.Millisecond: "2.3s", 65 * time.Second: "1m 5s",
		59*time.Minute + 59*time.Second: "59m 59s", 2 * time.Hour: "2h 0m", 50 * time.Hour: "2d 2h", -300 * time.Microsecond: "0s", -90 * time.Second: "-1m 30s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "a\n b\t c": "a b c", "éééééééééééé": "ééééééééé…"} {
		if got := Shorten(text, 10); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestColoursAreForTerminalsOnly(t *testing.T) {
	if got := Paint(&bytes.Buffer{}, Red, "x"); got != "x" {
		t.Errorf("a buffer gets %q", got)
	}
}

// TestScreensAreWrittenInOnePlace finds what prints past Printf and its like.
func TestScreensAreWrittenInOnePlace(t *testing.T) {
	allowed := map[string]int{ // by file name, wherever it stands, or with its folder
		"screen.go": 3, "screen/table.go": 3, "logging/lines.go": 1, // the places
		"completion.go": 1, "init.go": 1, "lua.go": 1, "complete.go": 1, // our own texts
		"steady.go": 1, "web/pageoverview.go": 1, // what is compared, not printed
		"hub/logs.go":     1, // a line that is kept, made visible
		"web/pagelive.go": 1, // to a browser, as JSON
	}
	past := regexp.MustCompile(`fmt\.F?[pP]rint|io\.WriteString|os\.Std(out|err)\.Write`)
	seen := 0
	files := must.Get(filepath.Glob("../*/*.go"))(t)
	for _, file := range files {
		dir := filepath.Base(filepath.Dir(file))
		if strings.HasSuffix(file, "_test.go") || dir == "check" || dir == "redistest" {
			continue // the gate, and what is for tests, talk to those who build this
		}
		text := must.Get(os.ReadFile(file))(t)
		seen++
		if n := len(past.FindAll(text, -1)); n != allowed[filepath.Base(file)]+allowed[dir+"/"+filepath.Base(file)] {
			t.Errorf("%s prints in %d places past Printf, PrintLine and Table", file, n)
		}
	}
	if seen < 100 {
		t.Errorf("looked at %d files", seen)
	}
}
