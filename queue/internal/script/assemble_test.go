package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// scriptGlobals is what Redis lets a script see, as far as ours use it.
var scriptGlobals = []string{
	"ARGV", "KEYS", "redis", "cjson", "math", "string", "table",
	"assert", "error", "ipairs", "next", "pairs", "pcall", "rawget", "setmetatable", "tonumber", "tostring", "type", "unpack",
}

// allScripts returns the text of each script, by its dialect and command.
func allScripts() map[string]string {
	scripts := map[string]string{"unified": Unified(DefaultNamespace, Qless)}
	for _, dialect := range []Dialect{Qless, Reqless, Oarlock, Batch} {
		for _, command := range Commands(dialect) {
			scripts[string(dialect)+"/"+command], _ = Text(dialect, command, DefaultNamespace)
		}
	}
	return scripts
}

// TestGlobals compiles every script and looks at each global it names on any path:
// a misspelt local, a library function that does not exist, an assignment that
// forgot its local. Redis would find them only when they run.
func TestGlobals(t *testing.T) {
	for name, text := range allScripts() {
		chunk, err := parse.Parse(strings.NewReader(text), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		proto, err := lua.Compile(chunk, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, wrong := range strangeGlobals(proto) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// strangeGlobals lists assignments to globals, and reads of any that Redis has not.
func strangeGlobals(proto *lua.FunctionProto) []string {
	var found []string
	for i, instruction := range proto.Code {
		// The format of an instruction: 6 bits of operation, 8 of register, 18 of
		// constant.
		op, constant := int(instruction>>26), int(instruction&0x3ffff)
		switch op {
		case lua.OP_SETGLOBAL:
			found = append(found, fmt.Sprintf("line %d assigns to a global", proto.DbgSourcePositions[i]))
		case lua.OP_GETGLOBAL:
			if name := proto.Constants[constant].String(); !slices.Contains(scriptGlobals, name) {
				found = append(found, fmt.Sprintf("line %d: no such global: %s", proto.DbgSourcePositions[i], name))
			}
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		found = append(found, strangeGlobals(inner)...)
	}
	return found
}

func TestStrangeGlobals(t *testing.T) {
	const text = "local a = ARGV[1]\nb = a\nlocal function f() return nowhere(a) end\nreturn f()"
	chunk, err := parse.Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"line 2 assigns to a global", "line 3: no such global: nowhere"}
	if got := strangeGlobals(proto); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestScriptHoldsWhatItUses checks that a script is assembled from its command and
// what that needs, and from nothing else.
func TestScriptHoldsWhatItUses(t *testing.T) {
	text, ok := Text(Qless, "length", DefaultNamespace)
	if !ok {
		t.Fatal("no length")
	}
	if !strings.HasPrefix(text, "local given_queue, refuse\n") {
		t.Errorf("length begins with %.60q", text)
	}
	if strings.Contains(text, "function remember") {
		t.Error("length contains a function it does not call")
	}
	if _, ok := Text(Qless, "job.get", DefaultNamespace); ok {
		t.Error("qless has a command of reqless")
	}
}

func TestNamespace(t *testing.T) {
	for _, namespace := range []string{"{oar}:", "a'b\\c:"} {
		text, _ := Text(Reqless, "queueIdentifierPatterns.getAll", namespace)
		if strings.Contains(text, "'ql:") || strings.Contains(text, "'qmore:") {
			t.Errorf("in namespace %q a key of another is named", namespace)
		}
		if _, err := parse.Parse(strings.NewReader(text), ""); err != nil {
			t.Errorf("namespace %q: %v", namespace, err)
		}
	}
}

// TestLuaTokens checks that the pieces of a text are the text, and that only names
// of variables and quoted text are taken for such.
func TestLuaTokens(t *testing.T) {
	const text = `local a = b.c .. 'it\'s "x"' -- not 'this' or that
if a ~= "-- nor this" then return 0x1F end`
	var joined strings.Builder
	var identifiers, literals []string
	for token := range luaTokens(text) {
		joined.WriteString(token.text)
		switch token.kind {
		case identifier:
			identifiers = append(identifiers, token.text)
		case literal:
			literals = append(literals, token.text)
		}
	}
	if joined.String() != text {
		t.Errorf("joined: %q", joined.String())
	}
	if want := []string{"local", "a", "b", "if", "a", "then", "return", "end"}; !slices.Equal(identifiers, want) {
		t.Errorf("identifiers %q, want %q", identifiers, want)
	}
	if want := []string{`'it\'s "x"'`, `"-- nor this"`}; !slices.Equal(literals, want) {
		t.Errorf("literals %q, want %q", literals, want)
	}
}

// localNames match the names of parameters, of local functions, and of variables.
var localNames = []*regexp.Regexp{
	regexp.MustCompile(`\bfunction ?[a-z0-9_]*\(([a-z0-9_, ]+)`), regexp.MustCompile(`\blocal function ([a-z0-9_]+)`),
	regexp.MustCompile(`\b(?:local|for) ([a-z0-9_, ]+)`),
}

// TestNoShadows checks that no parameter or local variable has the name of a library
// function: the assembler would take it for a use of that, and put it in the way.
func TestNoShadows(t *testing.T) {
	check := func(where, text string) {
		for _, expression := range localNames {
			for _, m := range expression.FindAllStringSubmatch(text, -1) {
				names, _, _ := strings.Cut(m[1], " in ")
				for _, name := range strings.Split(names, ",") {
					name = strings.TrimSpace(name)
					if _, taken := sources().library[name]; taken {
						t.Errorf("%s: %s is a library function, and a variable here", where, name)
					}
				}
			}
		}
	}
	for name, d := range sources().library {
		check(name, d.text)
	}
	for dialect, commands := range sources().commands {
		for name, c := range commands {
			check(string(dialect)+"/"+name, c.body)
		}
	}
}
