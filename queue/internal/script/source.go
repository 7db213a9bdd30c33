package script

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"weak"

	"oarlock/queue/internal/bounds"
	"oarlock/queue/lua"
)

// The scripts are assembled from one file per command and a library of shared
// functions, in queue/lua. To add a command, write lua/<dialect>/<command>.lua:
//
//   - its arguments are ARGV: now first, then the command's own; now is a finite
//     number in a form that Redis takes for a score;
//   - it may call any function of lua/lib by name; which of them it needs is
//     found by reading it, so nothing is listed or included by hand;
//   - the name of every key and channel begins with a literal 'ql:, which
//     becomes the namespace;
//   - a command of the reqless dialect that differs from its counterpart only
//     where the library asks `if reqless` is one line, `return qless.<name>()`.
//
// A library file holds top-level statements only, `function name(…) … end` and
// `name = value`, each starting and ending in the first column. A value must
// not refer to another name: values are set before the functions are.
//
// Every call makes its functions anew, and for that needs as long as for some of
// its work. One that few calls reach says so in the last line of its comment,
// `-- Rare.`: it, and what only such functions use, is made when a call first asks for it.
// A number or a text in single quotes is put wherever its name stands. What is true or false at first
// is for all functions to change.
//
// What most calls of a batch command do may stand in a file of its name in lua/plain, which comes before all functions, and so may use constants of
// the library alone: it does such a call and returns, or changes nothing and lets the script go on.

// luaSources is what is in the lua directory, taken apart.
type luaSources struct {
	library  map[string]definition
	commands map[Dialect]map[string]luaCommand
}

// definition is one function or value of the library.
type definition struct {
	text     string
	function bool
	rare     bool
	changes  bool     // a value that a call may change
	constant string   // what a value that never changes stands for, where that is short
	place    int      // in the library, by file and line
	uses     []string // names of the library that it mentions, but for constants
}

// luaCommand is one command.
type luaCommand struct {
	file string // where its body is; aliases share one
	body string // ends in a newline
	// first is what it does before it makes any function of the library, of which it uses constants alone; "" if nothing.
	first string

	// What is found when it is first asked for: what the command needs at once, and values that change; what it may come to need; and the
	// script in the default namespace.
	needs func() (once, later []string)
	text  func() string
}

var (
	sourcesLock sync.Mutex // guards the next one
	lastSources weak.Pointer[luaSources]
)

// sources returns what is in the lua directory. It is most of a MiB, and a Set keeps what it has assembled, so whoever runs for long needs
// none of it: it stays until garbage is collected, and is read anew, in some milliseconds, for a command that is asked for later.
func sources() *luaSources {
	sourcesLock.Lock()
	defer sourcesLock.Unlock()
	lua := lastSources.Value()
	if lua == nil {
		lua = readSources()
		lastSources = weak.Make(lua)
	}
	return lua
}

// readSources takes the lua directory apart. A file that breaks the rules at the top of this page panics; a test assembles every command.
func readSources() *luaSources {
	lua := &luaSources{library: make(map[string]definition), commands: make(map[Dialect]map[string]luaCommand)}
	library := luaDir("lib")
	for _, name := range slices.Sorted(maps.Keys(library)) {
		lua.addLibrary(name, library[name])
	}
	lua.addLibrary("bounds", bounds.Lua())
	for name, d := range lua.library {
		d.uses = lua.uses(d.text)
		lua.library[name] = d
	}
	qless, plain := luaDir(string(Qless)), luaDir("plain")
	for _, dialect := range []Dialect{Qless, Reqless, Oarlock, Batch} {
		lua.commands[dialect] = make(map[string]luaCommand)
		for name, text := range luaDir(string(dialect)) {
			file := string(dialect) + "/" + name
			if m := sameAs.FindStringSubmatch(text); m != nil {
				counterpart, ok := qless[m[1]]
				if !ok {
					panic(fmt.Sprintf("lua/%s.lua: qless has no %s", file, m[1]))
				}
				file, text = "qless/"+m[1], counterpart
			}
			text = code(strings.Split(strings.TrimRight(text, "\n"), "\n"))
			c := luaCommand{file: file, body: text}
			if first, ok := plain[name]; ok && dialect == Batch {
				c.first = lua.straight(name, first)
			}
			c.needs = sync.OnceValues(func() (once, later []string) { return lua.divide(lua.uses(text)) })
			c.text = sync.OnceValue(func() string { return lua.assemble(dialect, c) })
			lua.commands[dialect][name] = c
		}
	}
	return lua
}

// straight returns the code of a text that stands before all functions.
func (lua *luaSources) straight(name, text string) string {
	text = code(strings.Split(strings.TrimRight(text, "\n"), "\n"))
	for _, used := range lua.uses(text) {
		if lua.library[used].constant == "" {
			panic(fmt.Sprintf("lua/plain/%s.lua: %s is made later", name, used))
		}
	}
	return text
}

// sameAs matches the code of a command that is its qless counterpart.
var sameAs = regexp.MustCompile(`(?m)^return qless\.([a-z.]+)\(\)$`)

// luaDir returns the text of the files in one directory by their names without
// the suffix.
func luaDir(dir string) map[string]string {
	files := make(map[string]string)
	paths, _ := fs.Glob(lua.Files, path.Join(dir, "*.lua"))
	for _, p := range paths {
		text, err := lua.Files.ReadFile(p)
		if err != nil {
			panic(err) // embedded files are always there
		}
		files[strings.TrimSuffix(path.Base(p), ".lua")] = string(text)
	}
	return files
}

var (
	functionStart = regexp.MustCompile(`^function ([A-Za-z_0-9]+)\(`)
	valueStart    = regexp.MustCompile(`^([A-Za-z_0-9]+) = `)
	plainConstant = regexp.MustCompile(`^[a-z_0-9]+ = (-?[0-9.]+|'[^'\\]*')(?: *--.*)?\n$`)
	plainState    = regexp.MustCompile(`^[a-z_0-9]+ = (?:true|false)(?: *--.*)?\n$`)
)

// addLibrary cuts one file of the library into its definitions. A comment
// belongs to the definition it stands on; others are about the file.
func (lua *luaSources) addLibrary(file, text string) {
	var comment []string
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case line == "":
			comment = nil
			continue
		case strings.HasPrefix(line, "--"):
			comment = append(comment, line)
			continue
		}
		var name string
		var d definition
		start := i
		if m := functionStart.FindStringSubmatch(line); m != nil {
			name, d.function = strings.Clone(m[1]), true // a part of the text would keep all of it
			for i < len(lines) && lines[i] != "end" {
				i++
			}
		} else if m := valueStart.FindStringSubmatch(line); m != nil {
			name = strings.Clone(m[1])
			for strings.HasSuffix(line, "{") && i < len(lines) && lines[i] != "}" {
				i++
			}
		}
		if name == "" || i == len(lines) {
			panic(fmt.Sprintf("lua/lib/%s.lua: not a definition: %s", file, line))
		}
		if _, twice := lua.library[name]; twice {
			panic(fmt.Sprintf("lua/lib/%s.lua: %s is defined twice", file, name))
		}
		d.rare = len(comment) > 0 && comment[len(comment)-1] == "-- Rare."
		d.text = code(lines[start : i+1])
		d.changes = plainState.MatchString(d.text)
		if m := plainConstant.FindStringSubmatch(d.text); m != nil {
			d.constant = m[1]
		}
		d.place = len(lua.library)
		lua.library[name] = d
		comment = nil
	}
}

// code joins lines without those that are nothing but a comment, which a server would keep with each script.
func code(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "--") {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// uses returns the names of the library that occur in a piece of Lua.
func (lua *luaSources) uses(text string) []string {
	var names []string
	for t := range luaTokens(text) {
		if _, ok := lua.library[t.text]; ok && t.kind == identifier && !slices.Contains(names, t.text) {
			names = append(names, t.text)
		}
	}
	return names
}

// closure returns the names and all that they need, directly or not, sorted.
func (lua *luaSources) closure(names []string) []string {
	return lua.reach(names, func(string) bool { return true })
}

// reach follows the uses of the names, and of what it finds, through those that
// pass.
func (lua *luaSources) reach(names []string, pass func(name string) bool) []string {
	seen := make(map[string]bool)
	for todo := slices.Clone(names); len(todo) > 0; todo = todo[1:] {
		if name := todo[0]; !seen[name] {
			seen[name] = true
			if pass(name) {
				todo = append(todo, lua.library[name].uses...)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
