package queue

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The scripts are assembled from one file per command and a library of shared
// functions. To add a command, write lua/<dialect>/<command>.lua:
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
// `-- Rare.`; what only such functions use is put inside them.
//
//go:embed lua
var luaFiles embed.FS

// Dialect is a family of commands: a directory of lua.
type Dialect string

const (
	Qless   Dialect = "qless"   // the commands of qless, one flat list of names
	Reqless Dialect = "reqless" // those of reqless, with dotted names and throttles
	Batch   Dialect = "batch"   // our own, about many jobs in one call
)

// DefaultNamespace is what the names of all keys and channels begin with
// wherever other clients of the protocol share the Redis.
const DefaultNamespace = "ql:"

// Script returns the text of the script that runs one command, for SCRIPT LOAD.
// Its ARGV is the time of the call in seconds since the epoch, then the
// command's arguments; KEYS are ignored, so that a cluster may be given one to
// route by. The second result says whether there is such a command.
func Script(dialect Dialect, command, namespace string) (text string, ok bool) {
	lua := sources()
	c, ok := lua.commands[dialect][command]
	if !ok {
		return "", false
	}
	var b strings.Builder
	declare(&b, c.direct)
	for _, name := range c.direct {
		b.WriteString(lua.define(name, c.direct))
	}
	if dialect == Reqless && slices.Contains(c.direct, "reqless") {
		b.WriteString("reqless = true\n")
	}
	b.WriteString(c.body)
	return inNamespace(b.String(), namespace), true
}

// Commands returns the names of a dialect's commands, sorted.
func Commands(dialect Dialect) []string {
	var names []string
	for name := range sources().commands[dialect] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Unified returns one script that speaks both dialects in the calling form of
// the protocol, EVALSHA sha 0 command now argument…, which clients of qless and
// reqless can load in place of their own. The names the dialects have in common
// (config.get, config.set, config.unset, queue.forget) answer as shared does,
// which is Qless or Reqless.
//
// Its top level builds only what the called command needs: the first chain of
// conditions marks the wanted functions, the second runs the command.
func Unified(namespace string, shared Dialect) string {
	lua := sources()
	branches := lua.branches(shared)
	top, always := lua.topLevel(branches)

	var b strings.Builder
	b.WriteString(unifiedHead)
	declare(&b, top)
	for _, name := range top {
		if !lua.library[name].function {
			b.WriteString(lua.library[name].text)
		}
	}
	for i, br := range branches {
		fmt.Fprintf(&b, "%s %s then\n", keyword(i), br.condition())
		var wanted []string
		for _, name := range br.direct {
			if lua.library[name].function {
				wanted = append(wanted, name)
			}
		}
		if len(wanted) > 0 {
			fmt.Fprintf(&b, "  %s = %s\n", strings.Join(wanted, ", "), strings.TrimSuffix(strings.Repeat("true, ", len(wanted)), ", "))
		}
	}
	b.WriteString(unifiedNow)
	for _, name := range top {
		if lua.library[name].function {
			fmt.Fprintf(&b, "if %s then\n%send\n", name, lua.define(name, always[name]))
		}
	}
	for i, br := range branches {
		fmt.Fprintf(&b, "%s %s then\n%s", keyword(i), br.condition(), br.dialectLine())
		b.WriteString(br.body)
	}
	b.WriteString("end\n")
	return inNamespace(b.String(), namespace)
}

// topLevel returns the names that the unified script defines at its top level, those
// that some command uses directly; and for each of them the names that are there
// whenever it is, because all commands that use the one use the other.
func (lua *luaSources) topLevel(branches []branch) (top []string, always map[string][]string) {
	always = make(map[string][]string)
	for _, br := range branches {
		top = union(top, br.direct)
		for _, name := range br.direct {
			others, seen := always[name]
			if !seen {
				others = slices.Clone(br.direct)
			}
			always[name] = slices.DeleteFunc(others, func(other string) bool { return !slices.Contains(br.direct, other) })
		}
	}
	return top, always
}

// union returns the names in either list, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

const unifiedHead = `-- The qless and reqless protocols in one script. Call it as
--   EVALSHA <sha> 0 <command> <now> [argument ...]
-- Assembled; the sources are one file per command.
if #KEYS > 0 then error('No Keys should be provided') end
local command = ARGV[1]
if not command then error('Must provide a command') end
`

// The first chain of the unified script ends here, and now is examined. What
// follows sees ARGV as it is in a script of one command.
const unifiedNow = `else
  error('Unknown command ' .. command)
end
if not ARGV[2] then error("bad argument #1 to 'tonumber' (value expected)") end
local clock = tonumber(ARGV[2])
if not clock or clock - clock ~= 0 then error('Arg "now" missing or not a number: nil') end
if not string.find(ARGV[2], '^%d+%.?%d*$') then ARGV[2] = string.format('%.17g', clock) end
table.remove(ARGV, 1)
`

func keyword(i int) string {
	if i == 0 {
		return "if"
	}
	return "elseif"
}

// branch is one alternative of the unified script: a body and all the names it
// answers to.
type branch struct {
	luaCommand
	names map[Dialect][]string
}

func (br branch) condition() string {
	var tests []string
	for _, d := range []Dialect{Qless, Reqless} {
		for _, name := range br.names[d] {
			tests = append(tests, fmt.Sprintf("command == '%s'", name))
		}
	}
	return strings.Join(tests, " or ")
}

// dialectLine sets reqless for a body that asks for it and can be reached by a
// reqless name.
func (br branch) dialectLine() string {
	if !slices.Contains(br.direct, "reqless") || len(br.names[Reqless]) == 0 {
		return ""
	}
	if len(br.names[Qless]) == 0 {
		return "reqless = true\n"
	}
	return fmt.Sprintf("reqless = command ~= '%s'\n", strings.Join(br.names[Qless], "' and command ~= '"))
}

// hot names the commands that clients call all the time; they are looked for
// first.
var hot = []string{"pop", "put", "complete", "heartbeat", "get", "peek", "retry", "fail"}

// branches returns the alternatives of the unified script, the hot ones first.
func (lua *luaSources) branches(shared Dialect) []branch {
	var order []string
	byBody := make(map[string]*branch)
	add := func(d Dialect, name string) {
		c := lua.commands[d][name]
		br := byBody[c.file]
		if br == nil {
			br = &branch{luaCommand: c, names: make(map[Dialect][]string)}
			byBody[c.file] = br
			order = append(order, c.file)
		}
		br.names[d] = append(br.names[d], name)
	}
	other := Reqless
	if shared == Reqless {
		other = Qless
	}
	for _, name := range hot {
		add(Qless, name)
	}
	for _, name := range Commands(shared) {
		if shared != Qless || !slices.Contains(hot, name) {
			add(shared, name)
		}
	}
	for _, name := range Commands(other) {
		_, taken := lua.commands[shared][name]
		if !taken && (other != Qless || !slices.Contains(hot, name)) {
			add(other, name)
		}
	}
	branches := make([]branch, len(order))
	for i, file := range order {
		branches[i] = *byBody[file]
	}
	return branches
}

// luaSources is what is in the lua directory, taken apart.
type luaSources struct {
	library  map[string]definition
	commands map[Dialect]map[string]luaCommand
}

// definition is one function or value of the library, with its comment.
type definition struct {
	text     string
	function bool
	rare     bool
	uses     []string // names of the library that it mentions
}

// luaCommand is one command.
type luaCommand struct {
	file   string   // where its body is; aliases share one
	body   string   // ends in a newline
	direct []string // the values of the library it needs, and the functions it calls without a rare one
}

// sources reads the lua directory once. A file that breaks the rules at the top
// of this page panics; a test assembles every command.
var sources = sync.OnceValue(func() *luaSources {
	lua := &luaSources{library: make(map[string]definition), commands: make(map[Dialect]map[string]luaCommand)}
	for name, text := range luaDir("lib") {
		lua.addLibrary(name, text)
	}
	lua.addLibrary("bounds", luaBounds())
	for name, d := range lua.library {
		d.uses = lua.uses(d.text)
		lua.library[name] = d
	}
	qless := luaDir(string(Qless))
	for _, dialect := range []Dialect{Qless, Reqless, Batch} {
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
			lua.commands[dialect][name] = luaCommand{file, text, lua.direct(lua.uses(text))}
		}
	}
	return lua
})

// sameAs matches the code of a command that is its qless counterpart.
var sameAs = regexp.MustCompile(`(?m)^return qless\.([a-z.]+)\(\)$`)

// luaDir returns the text of the files in one directory by their names without
// the suffix.
func luaDir(dir string) map[string]string {
	files := make(map[string]string)
	paths, _ := fs.Glob(luaFiles, path.Join("lua", dir, "*.lua"))
	for _, p := range paths {
		text, err := luaFiles.ReadFile(p)
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
			name, d.function = m[1], true
			for i < len(lines) && lines[i] != "end" {
				i++
			}
		} else if m := valueStart.FindStringSubmatch(line); m != nil {
			name = m[1]
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
		d.text = strings.Join(append(comment, lines[start:i+1]...), "\n") + "\n"
		lua.library[name] = d
		comment = nil
	}
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
	return lua.reach(names, func(definition) bool { return true })
}

// direct returns the names and what they need without the help of a rare function,
// and all values, sorted.
func (lua *luaSources) direct(names []string) []string {
	found := lua.reach(names, func(d definition) bool { return !d.rare })
	for _, name := range lua.closure(names) {
		if !lua.library[name].function {
			found = append(found, name)
		}
	}
	return union(found, nil)
}

// reach follows the uses of the names, and of what it finds, through those that
// pass.
func (lua *luaSources) reach(names []string, pass func(definition) bool) []string {
	seen := make(map[string]bool)
	for todo := slices.Clone(names); len(todo) > 0; todo = todo[1:] {
		if name := todo[0]; !seen[name] {
			seen[name] = true
			if pass(lua.library[name]) {
				todo = append(todo, lua.library[name].uses...)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// define returns the text of a definition. A rare function holds all it needs that
// is not there anyhow.
func (lua *luaSources) define(name string, there []string) string {
	d := lua.library[name]
	if !d.rare {
		return d.text
	}
	inner := slices.DeleteFunc(lua.closure(d.uses), func(use string) bool {
		return use == name || slices.Contains(there, use)
	})
	var b strings.Builder
	declare(&b, inner)
	for _, use := range inner {
		b.WriteString(lua.library[use].text)
	}
	body := strings.Index(d.text, "\nfunction "+name) + 1
	body += strings.Index(d.text[body:], "\n") + 1
	return d.text[:body] + b.String() + d.text[body:]
}

// declare makes the names local to the script, before any of them is defined,
// so that functions may call each other in any order.
func declare(b *strings.Builder, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(b, "local %s\n", strings.Join(names, ", "))
	}
}

// inNamespace puts the namespace in place of the literal 'ql: that the names of
// all keys and channels begin with. The two keys that reqless inherited from an
// older program go along, so that a hash tag covers them too.
func inNamespace(script, namespace string) string {
	if namespace == DefaultNamespace {
		return script
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(namespace)
	var b strings.Builder
	for t := range luaTokens(script) {
		text := t.text
		if t.kind == literal {
			if rest, ok := strings.CutPrefix(text, "'ql:"); ok {
				text = "'" + escaped + rest
			} else if rest, ok := strings.CutPrefix(text, "'qmore:"); ok {
				text = "'" + escaped + "qmore:" + rest
			}
		}
		b.WriteString(text)
	}
	return b.String()
}
