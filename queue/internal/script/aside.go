package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A script makes all its functions at each call, and many are seldom needed. So a script makes only those at once that are called without
// the help of a rare one. Each of the others is a field of a table, made when a call first asks for it:
//
//	rare1 = setmetatable({}, { __index = function(rare1, name)
//	local length = #name
//	if length < 12 then
//	if name == 'reseat' then
//	function rare1.reseat(…) … end
//	elseif …
//	end
//	else …
//	end
//	return rawget(rare1, name)
//	end })

const (
	// asideUses is how many names of the top level those of one table may use: they are its upvalues, of which Lua allows 60.
	asideUses = 40
	// asideMost is how many functions a table has at most.
	asideMost = 150
)

// divide tells what a script needs at once, which is what the names lead to without a rare function, and all that changes; and what it
// makes when it is asked for.
func (lua *luaSources) divide(names []string) (once, later []string) {
	direct := setOf(lua.reach(names, func(name string) bool { return !lua.library[name].rare }))
	for _, name := range lua.closure(names) {
		switch d := lua.library[name]; {
		case d.constant != "": // stands wherever it is used
		case d.changes || direct[name] && !d.rare:
			once = append(once, name)
		default:
			later = append(later, name)
		}
	}
	return once, later
}

// setOf returns the names as a set.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// group divides names into those of one table each, as few as may be.
//
//	there   what they may use of the top level
func (lua *luaSources) group(names []string, there map[string]bool) (groups [][]string) {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(lua.library[a].place, lua.library[b].place) })
	used := make(map[string]bool)
	for _, name := range names {
		uses := slices.DeleteFunc(slices.Clone(lua.library[name].uses), func(use string) bool { return !there[use] })
		more := maps.Clone(used)
		maps.Copy(more, setOf(uses))
		last := len(groups) - 1
		if last < 0 || len(more) > asideUses || len(groups[last]) == asideMost {
			groups, more, last = append(groups, nil), setOf(uses), last+1
		}
		groups[last], used = append(groups[last], name), more
	}
	return groups
}

// tables are the names of the tables of groups.
func tables(groups [][]string) (names []string) {
	for i := range groups {
		names = append(names, fmt.Sprintf("rare%d", i+1))
	}
	return names
}

// fields tells of each name of the groups as which field it is known.
func fields(groups [][]string) map[string]string {
	of := make(map[string]string)
	for i, table := range tables(groups) {
		for _, name := range groups[i] {
			of[name] = table + "." + name
		}
	}
	return of
}

// table writes what makes the functions of a group when they are asked for: by how long the name is, in halves, then by the name.
func (lua *luaSources) table(name string, group []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = setmetatable({}, { __index = function(%s, name)\nlocal length = #name\n", name, name)
	byLength := make(map[int][]string)
	for _, one := range group {
		byLength[len(one)] = append(byLength[len(one)], one)
	}
	lua.halve(&b, name, byLength, slices.Sorted(maps.Keys(byLength)))
	fmt.Fprintf(&b, "return rawget(%s, name)\nend })\n", name)
	return b.String()
}

// halve writes what makes those functions of a table whose names are of the given lengths, in order.
func (lua *luaSources) halve(b *strings.Builder, table string, byLength map[int][]string, lengths []int) {
	if middle := len(lengths) / 2; middle > 0 {
		fmt.Fprintf(b, "if length < %d then\n", lengths[middle])
		lua.halve(b, table, byLength, lengths[:middle])
		b.WriteString("else\n")
		lua.halve(b, table, byLength, lengths[middle:])
		b.WriteString("end\n")
		return
	}
	word := "if"
	for _, one := range byLength[lengths[0]] {
		text := lua.library[one].text
		if !lua.library[one].function {
			text = table + "." + text
		}
		fmt.Fprintf(b, "%s name == '%s' then\n%s", word, one, text)
		word = "elseif"
	}
	b.WriteString("end\n")
}

// written puts what names stand for in their place: constants, and fields of tables, also where these are defined.
func (lua *luaSources) written(text string, fields map[string]string) string {
	var b strings.Builder
	var before luaToken
	write := func(next string) {
		word := before.text
		if before.kind == identifier && !isKey(next) {
			if field, ok := fields[word]; ok {
				word = field
			} else if d, ok := lua.library[word]; ok && d.constant != "" {
				word = d.constant
			}
		}
		b.WriteString(word)
	}
	for t := range luaTokens(text) {
		write(t.text)
		before = t
	}
	write("")
	return b.String()
}

// isKey tells by what follows a name that it is the key of a table's field.
func isKey(after string) bool {
	after = strings.TrimLeft(after, " ")
	return strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==")
}
