package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Unified returns one script that speaks both dialects, and Oarlock, in the calling form of
// the protocol, EVALSHA sha 0 command now argument…, which clients of qless and
// reqless can load in place of their own. The names the dialects have in common
// (config.get, config.set, config.unset, queue.forget) answer as shared does,
// which is Qless or Reqless.
//
// Its top level makes only what the called command needs: the first chain of
// conditions marks the wanted functions, the second runs the command. What a rare function needs it has of tables, also
// what another command makes at once.
func Unified(namespace string, shared Dialect) string {
	lua := sources()
	branches := lua.branches(shared)
	top, groups := lua.topLevel(branches)
	ofTables := fields(groups)
	ofTop := maps.Clone(ofTables)
	for _, name := range top {
		delete(ofTop, name)
	}

	var b strings.Builder
	b.WriteString(unifiedHead)
	declare(&b, slices.Concat(top, tables(groups)))
	for _, name := range top {
		if !lua.library[name].function {
			b.WriteString(lua.library[name].text)
		}
	}
	for i, br := range branches {
		fmt.Fprintf(&b, "%s %s then\n", keyword(i), br.condition())
		if wanted := lua.wanted(br, groups); len(wanted) > 0 {
			fmt.Fprintf(&b, "  %s = %s\n", strings.Join(wanted, ", "), strings.TrimSuffix(strings.Repeat("true, ", len(wanted)), ", "))
		}
	}
	b.WriteString(unifiedNow)
	for _, name := range top {
		if lua.library[name].function {
			fmt.Fprintf(&b, "if %s then\n%send\n", name, lua.written(lua.library[name].text, ofTop))
		}
	}
	for i, name := range tables(groups) {
		fmt.Fprintf(&b, "if %s then\n%send\n", name, lua.written(lua.table(name, groups[i]), ofTables))
	}
	for i, br := range branches {
		fmt.Fprintf(&b, "%s %s then\n%s", keyword(i), br.condition(), br.dialectLine())
		b.WriteString(lua.written(br.body, ofTop))
	}
	b.WriteString("end\n")
	return inNamespace(b.String(), namespace)
}

// topLevel returns the names that the unified script defines at its top level: what some command needs at once. And in groups what its
// tables make: all that the functions need of which some command has none at once, but for values that are there anyhow.
func (lua *luaSources) topLevel(branches []branch) (top []string, groups [][]string) {
	var later []string
	for _, br := range branches {
		once, more := br.needs()
		top, later = union(top, once), union(later, more)
	}
	values := setOf(slices.DeleteFunc(slices.Clone(top), func(name string) bool { return lua.library[name].function }))
	later = slices.DeleteFunc(lua.closure(later), func(name string) bool { return values[name] || lua.library[name].constant != "" })
	return top, lua.group(later, values)
}

// wanted lists the functions and tables of the top level that a command needs.
func (lua *luaSources) wanted(br branch, groups [][]string) []string {
	once, later := br.needs()
	wanted := slices.DeleteFunc(slices.Clone(once), func(name string) bool { return !lua.library[name].function })
	of, reached := fields(groups), make(map[string]bool)
	for _, name := range lua.closure(later) {
		if table, _, ok := strings.Cut(of[name], "."); ok {
			reached[table] = true
		}
	}
	return append(wanted, slices.Sorted(maps.Keys(reached))...)
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
	for _, d := range []Dialect{Qless, Reqless, Oarlock} {
		for _, name := range br.names[d] {
			tests = append(tests, fmt.Sprintf("command == '%s'", name))
		}
	}
	return strings.Join(tests, " or ")
}

// dialectLine sets reqless for a body that asks for it and can be reached by a
// reqless name.
func (br branch) dialectLine() string {
	once, _ := br.needs()
	if !slices.Contains(once, "reqless") || len(br.names[Reqless]) == 0 {
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
	for _, name := range Commands(Oarlock) {
		add(Oarlock, name)
	}
	branches := make([]branch, len(order))
	for i, file := range order {
		branches[i] = *byBody[file]
	}
	return branches
}
