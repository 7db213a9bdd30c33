// Package script makes the texts of the Lua scripts. It owns their assembly from the sources
// of queue/lua, the namespace in them, and the SHA by which a server knows each. It talks to no
// server and knows nothing of jobs; whoever runs a script has its arguments and reads its reply.
package script

import (
	"fmt"
	"slices"
	"strings"
)

// Dialect is a family of commands: a directory of queue/lua.
type Dialect string

// The dialects.
const (
	Qless   Dialect = "qless"   // the commands of qless, one flat list of names
	Reqless Dialect = "reqless" // those of reqless, with dotted names and throttles
	Oarlock Dialect = "oarlock" // our own, about one job, for clients of either
	Batch   Dialect = "batch"   // our own, about many jobs in one call
)

// DefaultNamespace is what the names of all keys and channels begin with
// wherever other clients of the protocol share the Redis.
const DefaultNamespace = "ql:"

// Text returns the script that runs one command, for SCRIPT LOAD.
// Its ARGV is the time of the call in seconds since the epoch, then the
// command's arguments; KEYS are ignored, so that a cluster may be given one to
// route by. The second result says whether there is such a command.
func Text(dialect Dialect, command, namespace string) (text string, ok bool) {
	c, ok := sources().commands[dialect][command]
	if !ok {
		return "", false
	}
	return inNamespace(c.text(), namespace), true
}

// assemble returns the script of a command in the default namespace.
func (lua *luaSources) assemble(dialect Dialect, c luaCommand) string {
	once, later := c.needs()
	groups := lua.group(later, setOf(once))
	var b strings.Builder
	b.WriteString(c.first)
	declare(&b, slices.Concat(once, tables(groups)))
	for _, name := range once {
		b.WriteString(lua.library[name].text)
	}
	for i, table := range tables(groups) {
		b.WriteString(lua.table(table, groups[i]))
	}
	if dialect == Reqless && slices.Contains(once, "reqless") {
		b.WriteString("reqless = true\n")
	}
	b.WriteString(c.body)
	return lua.written(b.String(), fields(groups))
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
func inNamespace(text, namespace string) string {
	if namespace == DefaultNamespace {
		return text
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(namespace)
	var b strings.Builder
	for t := range luaTokens(text) {
		piece := t.text
		if t.kind == literal {
			if rest, ok := strings.CutPrefix(piece, "'ql:"); ok {
				piece = "'" + escaped + rest
			} else if rest, ok := strings.CutPrefix(piece, "'qmore:"); ok {
				piece = "'" + escaped + "qmore:" + rest
			}
		}
		b.WriteString(piece)
	}
	return b.String()
}
