package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rowsOf is how many rows each section of FAULTS.md has.
var rowsOf = map[string]int{
	"A": 28, "B": 28, "C": 16, "D": 10, "E": 14, "F": 10, "G": 12, "H": 10, "I": 6, "J": 8, "S": 33,
}

var (
	rowLine   = regexp.MustCompile(`^\| (([A-JS])-?\d+) \|`)
	testNames = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+(?:/[A-Z]-?[0-9]+)?)`")
)

// notShown begins the last cell of a row that no test shows; the reason follows.
const notShown = "not shown: "

// TestDocument holds FAULTS.md to the code: each row names tests that exist, or says
// why there is none; and each row that a test runs is in the document.
func TestDocument(t *testing.T) {
	tests := testFunctions(t)
	documented := make(map[string]bool)
	sections := make(map[string]int)
	for _, line := range lines(t, "FAULTS.md") {
		id := rowLine.FindStringSubmatch(line)
		if id == nil {
			continue
		}
		row, section := id[1], id[2]
		if section == "I" && !strings.Contains(row, "-") {
			continue // an invariant
		}
		if documented[row] {
			t.Errorf("row %s is there twice", row)
		}
		documented[row] = true
		sections[section]++
		checkEvidence(t, "row "+row, line, tests)
	}
	for section, want := range rowsOf {
		if sections[section] != want {
			t.Errorf("section %s has %d rows, want %d", section, sections[section], want)
		}
	}
	for _, f := range faults() {
		if !documented[f.id()] && f.name[0] != 'W' { // those are in FEATURES.md
			t.Errorf("TestRows runs row %s, which FAULTS.md does not know", f.id())
		}
	}
}

// checkEvidence looks at the last cell of a table row.
func checkEvidence(t *testing.T, what, line string, tests map[string]bool) {
	t.Helper()
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	cell := strings.TrimSpace(cells[len(cells)-1])
	if reason, ok := strings.CutPrefix(cell, notShown); ok {
		if len(strings.Fields(reason)) < 4 {
			t.Errorf("%s is not shown, for no reason: %q", what, reason)
		}
		return
	}
	names := testNames.FindAllStringSubmatch(cell, -1)
	if len(names) == 0 {
		t.Errorf("%s names no test: %q", what, cell)
	}
	for _, name := range names {
		if !tests[name[1]] {
			t.Errorf("%s names %s, which does not exist", what, name[1])
		}
	}
}

// testFunctions returns the names of all tests of the module, those of TestRows with its rows.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, f := range faults() {
		names["TestRows/"+f.id()] = true
	}
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text := got(os.ReadFile(path))(t)
	return strings.Split(string(text), "\n")
}
