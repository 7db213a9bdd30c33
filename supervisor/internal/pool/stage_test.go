package pool

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachStageOfAnAttemptIsReachedAndLeft(t *testing.T) { walk(t, waiting, over, stageMoves[:]) }

func TestEachStateOfAMemberIsReachedAndLeft(t *testing.T) {
	walk(t, memberStarting, memberGone, memberMoves[:])
}

// walk looks at a table of changes: each state has a name, is reached from the first, and is
// left for another, but for the last.
func walk[S interface {
	~uint8
	String() string
}](t *testing.T, first, last S, moves [][]S) {
	if len(moves) != int(last)+1 {
		t.Fatalf("the table has %d states, want %d", len(moves), last+1)
	}
	reached := map[S]bool{}
	var visit func(S)
	visit = func(s S) {
		if reached[s] {
			return
		}
		reached[s] = true
		for _, next := range moves[s] {
			visit(next)
		}
	}
	visit(first)
	names := map[string]bool{}
	for s := first; s <= last; s++ {
		if s.String() == "" || names[s.String()] {
			t.Errorf("state %d is named %q, like another or not at all", s, s)
		}
		names[s.String()] = true
		if !reached[s] {
			t.Errorf("%v is never reached", s)
		}
		if (len(moves[s]) == 0) != (s == last) {
			t.Errorf("after %v come %v", s, moves[s])
		}
	}
}

// What a table allows, only its own function changes.
func TestTablesHaveOneWriter(t *testing.T) {
	writers := map[string]string{"stage": "advance", "state": "to"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				assigned, ok := n.(*ast.AssignStmt)
				if !ok {
					return true
				}
				for _, to := range assigned.Lhs {
					if field, ok := to.(*ast.SelectorExpr); ok && writers[field.Sel.Name] != "" {
						found[field.Sel.Name] = append(found[field.Sel.Name], f.Name.Name)
					}
				}
				return true
			})
		}
	}
	for field, writer := range writers {
		if got := found[field]; len(got) != 1 || got[0] != writer {
			t.Errorf("%s is written by %v, want %s alone", field, got, writer)
		}
	}
}
