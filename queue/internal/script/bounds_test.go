package script

import (
	"maps"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// What Lua allows a function is 200 locals and 60 upvalues; and each function that a call builds costs some of its time.
const (
	mostLocals   = 180
	mostUpvalues = 50
)

// builtPerCall is how many functions a call of a script may build at its top level.
var builtPerCall = map[string]int{"exchange": 60, "ruled": 80}

// TestBoundsOfScripts counts what each script has of what Lua, or the time of a call, allows.
func TestBoundsOfScripts(t *testing.T) {
	for name, text := range allScripts() {
		chunk, err := parse.Parse(strings.NewReader(text), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		proto, err := lua.Compile(chunk, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		locals, upvalues := largest(proto)
		if locals > mostLocals || upvalues > mostUpvalues {
			t.Errorf("%s: a function with %d locals, and one with %d upvalues", name, locals, upvalues)
		}
	}
	for command, most := range builtPerCall {
		t.Logf("%s builds %d", command, len(built(command)))
		functions := built(command)
		if len(functions) > most {
			t.Errorf("a call of %s builds %d functions, of %d: %s", command, len(functions), most, strings.Join(functions, " "))
		}
	}
}

// largest is how many locals at a time, and how many upvalues, the function has that has most of them.
func largest(proto *lua.FunctionProto) (locals, upvalues int) {
	change := make(map[int]int) // of how many there are, by instruction
	for _, one := range proto.DbgLocals {
		change[one.StartPc]++
		change[one.EndPc]--
	}
	now := 0
	for _, pc := range slices.Sorted(maps.Keys(change)) {
		now += change[pc]
		locals = max(locals, now)
	}
	upvalues = int(proto.NumUpvalues)
	for _, inner := range proto.FunctionPrototypes {
		l, u := largest(inner)
		locals, upvalues = max(locals, l), max(upvalues, u)
	}
	return locals, upvalues
}

// built lists the functions that a call of a command of ours builds.
func built(command string) []string {
	all := sources()
	once, later := all.commands[Batch][command].needs()
	functions := slices.DeleteFunc(slices.Clone(once), func(name string) bool { return !all.library[name].function })
	return append(functions, tables(all.group(later, setOf(once)))...)
}
