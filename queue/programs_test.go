package queue

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"oarlock/queue/internal/wire"
)

// Tests at random play a tenth of their length in the gate, and begin with seed 0 there; the long run begins anywhere, and says where.
// OARLOCK_SEED is the seed that either begins with.

// Tenth is n, or a tenth of it in the gate, and at least one.
func Tenth(n int) int {
	if testing.Short() {
		n = max(1, n/10)
	}
	return n
}

// Seeds are those of n programs, or of a tenth of them in the gate.
func Seeds(t testing.TB, n int) iter.Seq[uint64] {
	t.Helper()
	first := firstSeed()
	t.Logf("seeds from OARLOCK_SEED=%d", first)
	return func(yield func(uint64) bool) {
		for i := range uint64(Tenth(n)) {
			if !yield(first + i) {
				return
			}
		}
	}
}

var firstSeed = sync.OnceValue(func() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("OARLOCK_SEED"), 10, 64)
	if err != nil && !testing.Short() {
		seed = uint64(time.Now().Unix() % 100_000)
	}
	return seed
})

// checkAtRandom checks a property of 100 random histories, or of a tenth of them in the gate.
func checkAtRandom(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rapidFlags()
	t.Logf("seed OARLOCK_SEED=%d", firstSeed())
	rapid.Check(t, property)
}

var rapidFlags = sync.OnceFunc(func() {
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		flag.Set("rapid.seed", strconv.FormatUint(firstSeed()+1, 10)) // 0 is any
	}
	if testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
		flag.Set("rapid.checks", "50") // of which it plays a fifth then
	}
})

// Long ends a test that the gate has no time for.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: " + why)
	}
}

// program is a random program of a model: what it does is drawn, and after each step it looks at all that is kept.
type program interface {
	step(i int) (more bool)
	finish()         // lets all that is left end, and looks at what is left then
	noted() []string // what it did
}

// playOut runs a program of so many steps, and returns what it found wrong, "" if nothing.
func playOut(p program, steps int) (wrong string) {
	defer func() { wrong = faultOf(recover()) }()
	for i := 0; i < steps && p.step(i); i++ {
	}
	p.finish()
	return ""
}

// playAll plays programs of so many seeds, or of a tenth of them in the gate.
func playAll(t *testing.T, seeds, steps int, begin func(seed uint64) program) {
	t.Helper()
	for seed := range Seeds(t, seeds) {
		mustPlay(t, seed, steps, begin(seed))
	}
}

func mustPlay(t *testing.T, seed uint64, steps int, p program) {
	t.Helper()
	if wrong := playOut(p, steps); wrong != "" {
		t.Fatalf("seed %d: %s\nafter\n%s", seed, wrong, strings.Join(p.noted()[max(0, len(p.noted())-60):], "\n"))
	}
}

// mistake is one in the scripts, which programs must find.
type mistake struct {
	name    string
	changes []string // what stands there, and what in its place
	first   uint64   // the seed that is played first, for one is known to find it
	mix     turnsMix // and its mix
}

// mustFindEach makes each mistake, in whatever script it is, and plays so many programs, at most, until one finds it. The gate makes the first.
func mustFindEach(t *testing.T, mistakes []mistake, programs, steps int, begin func(m mistake, i uint64, change func(string) string) program) {
	for i, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			if i > 0 {
				Long(t, "the gate makes one such mistake")
			}
			mustFind(t, m.changes, programs, func(i uint64, change func(string) string) string { return playOut(begin(m, i, change), steps) })
		})
	}
}

// course is what programs have: they draw, call scripts at a time that they make up, note what they do, and fail.
type course struct {
	t      testing.TB
	lab    *lab
	change func(string) string // of every script, for mutations
	random *rand.Rand
	now    float64
	log    []string
}

// newCourse empties the lab for a program.
func newCourse(t testing.TB, l *lab, seed, stream uint64, change func(string) string) *course {
	t.Helper()
	ok(t, l.redis.FlushDB(t.Context()).Err())
	return &course{t: t, lab: l, change: change, random: rand.New(rand.NewPCG(seed, stream)), now: 1763700000}
}

func (c *course) noted() []string { return c.log }

func (c *course) note(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf("%.2f ", c.now-1763700000)+fmt.Sprintf(format, args...))
}

func (c *course) rarely(n int) bool { return c.random.IntN(n) == 0 }

func oneOf[T any](c *course, list []T) T { return list[c.random.IntN(len(list))] }

// someone draws one of the keys of a map; false if it is empty.
func someone[V any](c *course, of map[string]V) (string, bool) {
	if len(of) == 0 {
		return "", false
	}
	return oneOf(c, slices.Sorted(maps.Keys(of))), true
}

// fault is what a step is panicked with that finds something wrong.
type fault string

func (c *course) fail(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// faultOf is the fault that ended a program, as recover returned it; "" if none did.
func faultOf(recovered any) string {
	if recovered == nil {
		return ""
	}
	text, ok := recovered.(fault)
	if !ok {
		panic(recovered)
	}
	return string(text)
}

// finder ends a program where something is wrong, and not its test.
type finder struct{ testing.TB }

func (f finder) Fatalf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }
func (f finder) Errorf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }
func (f finder) Fatal(args ...any)                 { panic(fault(fmt.Sprint(args...))) }

// eval runs a script as it is, or with the mutation.
func (c *course) eval(text string, argv ...any) any {
	words := make([]string, len(argv))
	for i, arg := range argv {
		switch arg := arg.(type) {
		case string:
			words[i] = arg
		case []byte:
			words[i] = string(arg)
		default:
			words[i] = fmt.Sprint(arg)
		}
	}
	reply, err := c.lab.eval(c.t.Context(), text, nil, words)
	if err != nil && strings.Contains(err.Error(), "user_script") && !strings.Contains(err.Error(), "(): ") {
		c.fail("a script failed: %v", err)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return reply
}

// batch calls one of our own commands.
func (c *course) batch(command string, args ...any) any {
	text := c.change(c.lab.text(Batch, command))
	c.note("%s %q", command, args)
	return c.eval(text, append([]any{wire.Number(c.now)}, args...)...)
}

// single calls a command of the protocol, as we know it.
func (c *course) single(command string, args ...any) any {
	c.note("our %s %q", command, args)
	return c.eval(c.change(c.lab.text(Qless, "")), append([]any{command, wire.Number(c.now)}, args...)...)
}

// keyless is the unified script without what it knows of keys, as the original is.
var keyless = sync.OnceValue(func() string {
	nothing := strings.NewReplacer("'oarlock-lane'", "'oarlock-nothing'", "'ql:oarlock:rules'", "'ql:nothing'", "named.key", "named.nothing")
	return nothing.Replace(Unified(DefaultNamespace, Qless))
})

// foreign calls a command of the protocol in the original script.
func (c *course) foreign(command string, args ...any) any {
	c.note("foreign %s %q", command, args)
	return c.eval(keyless(), append([]any{command, wire.Number(c.now)}, args...)...)
}

var (
	luaWord  = regexp.MustCompile(`[.']?[A-Za-z_][A-Za-z_0-9]*`)
	luaField = regexp.MustCompile(`rare\d+\.([A-Za-z_][A-Za-z_0-9]*)`)
)

// mistaken puts a piece of Lua in place of another in an assembled script, both as they stand in the sources: there functions have
// their own names, and in a script some are fields of tables.
func mistaken(text, old, with string) string {
	for _, word := range luaWord.FindAllString(old, -1) {
		if !strings.Contains(text, word) { // most scripts: to match a pattern in all of it takes a hundred times as long
			return text
		}
	}
	pattern := luaWord.ReplaceAllStringFunc(regexp.QuoteMeta(old), func(word string) string {
		if strings.ContainsAny(word[:1], ".'") {
			return word
		}
		return `(?:rare\d+\.)?` + word
	})
	fields := luaField.FindAllString(text, -1)
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(text, func(found string) string {
		return luaWord.ReplaceAllStringFunc(with, func(word string) string {
			if strings.Contains(old, word) && !strings.Contains(found, "."+word) {
				return word
			}
			for _, field := range fields {
				if strings.HasSuffix(field, "."+word) {
					return field
				}
			}
			return word
		})
	})
}

// mustFind plays programs, so many at most, on scripts with a mistake until one of them finds something wrong.
//
//	changes   pairs of a piece of Lua and what stands in its place, as mistaken takes them
//	play      plays the program of a number with scripts that are changed before; it returns what was wrong, "" if nothing
func mustFind(t *testing.T, changes []string, programs int, play func(number uint64, change func(string) string) (wrong string)) {
	t.Helper()
	made, texts := false, map[string]string{}
	change := func(text string) string {
		if _, known := texts[text]; !known {
			with := text
			for i := 0; i < len(changes); i += 2 {
				with = mistaken(with, changes[i], changes[i+1])
			}
			texts[text], made = with, made || with != text
		}
		return texts[text]
	}
	for number := range uint64(programs) {
		if wrong := play(number, change); wrong != "" {
			stop(t, !made, "%s, and nothing was changed", wrong)
			t.Logf("program %d: %.200s", number, wrong)
			return
		}
	}
	t.Errorf("no program found it (changed: %t)", made)
}
