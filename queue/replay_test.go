package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/embedded"
	"oarlock/internal/redistest"
)

// lab is a server that recorded calls are replayed against, seen through one
// connection that calls and one that hears every message.
type lab struct {
	redis     *redis.Client
	messages  *redis.PubSub
	namespace string
	texts     map[string]string // assembled scripts, by dialect and command
	shas      map[string]string // by text

	change func(string) string // of every script, for mutations; nil: none
}

// labs are the servers all scripts must work on.
var labs = map[string]func(t testing.TB) *redis.Options{
	"redis": func(t testing.TB) *redis.Options {
		return &redis.Options{Network: "unix", Addr: redistest.Start(t).Addr}
	},
	// shared hears no messages and counts no commands: they are those of all tests.
	"shared": func(t testing.TB) *redis.Options {
		options := must(redis.ParseURL(redistest.Shared(t).URL))(t)
		return options
	},
	"embedded": func(t testing.TB) *redis.Options {
		server := must(embedded.Start(""))(t)
		t.Cleanup(server.Close)
		return &redis.Options{Addr: server.Addr()}
	},
}

// newLab opens a lab whose scripts use namespace. Whatever is sent is written with
// the names of the default namespace, and so is whatever comes back.
func newLab(t testing.TB, server, namespace string) *lab {
	t.Helper()
	beside(t)
	options := labs[server](t)
	options.Protocol, options.MaxRetries, options.ReadTimeout = 2, -1, time.Minute
	l := &lab{redis: redis.NewClient(options), namespace: namespace, texts: make(map[string]string), shas: make(map[string]string)}
	t.Cleanup(func() { l.redis.Close() })
	if server != "shared" {
		l.messages = l.redis.PSubscribe(t.Context(), "*")
		t.Cleanup(func() { l.messages.Close() })
		_, err := l.messages.Receive(t.Context()) // the confirmation
		ok(t, err)
	}
	return l
}

// beside lets a test run beside others, for it shares nothing with them, unless it does already or cannot, because it sets the environment.
func beside(t testing.TB) {
	if t, ok := t.(*testing.T); ok {
		defer func() { recover() }()
		t.Parallel()
	}
}

// private ends a test of what concerns the whole server if others are there.
func (l *lab) private(t testing.TB) {
	t.Helper()
	stop(t, l.messages == nil, "other tests use this server, too")
}

// foreign puts the lab's namespace in place of the default one; home reverses it.
func (l *lab) foreign(s string) string {
	s = strings.ReplaceAll(s, "ql:", l.namespace)
	return strings.ReplaceAll(s, "qmore:", qmorePrefix(l.namespace))
}

func (l *lab) home(s string) string {
	s = strings.ReplaceAll(s, qmorePrefix(l.namespace), "qmore:")
	return strings.ReplaceAll(s, l.namespace, "ql:")
}

func qmorePrefix(namespace string) string {
	if namespace == DefaultNamespace {
		return "qmore:"
	}
	return namespace + "qmore:"
}

func (l *lab) foreignAll(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = l.foreign(w)
	}
	return out
}

// do runs a plain Redis command.
func (l *lab) do(ctx context.Context, words ...string) (any, error) {
	return l.homely(l.redis.Do(ctx, l.foreignAll(words)...).Result())
}

// text is the script of a command, or with no command the unified script.
func (l *lab) text(dialect Dialect, command string) string {
	key := string(dialect) + " " + command
	text, ok := l.texts[key]
	if !ok {
		text = assembled(dialect, command, l.namespace)
		if l.change != nil {
			text = l.change(text)
		}
		l.texts[key] = text
	}
	return text
}

var assembledTexts sync.Map // by dialect, command and namespace

// assembled is the script of a command, or the unified script; it takes a while to assemble one.
func assembled(dialect Dialect, command, namespace string) string {
	key := [3]string{string(dialect), command, namespace}
	if text, is := assembledTexts.Load(key); is {
		return text.(string)
	}
	text, is := Script(dialect, command, namespace)
	if !is {
		text = Unified(namespace, dialect)
	}
	assembledTexts.Store(key, text)
	return text
}

// eval runs a script.
func (l *lab) eval(ctx context.Context, text string, keys, argv []string) (any, error) {
	sha := l.shas[text]
	if sha == "" {
		var err error
		if sha, err = l.redis.ScriptLoad(ctx, text).Result(); err != nil {
			return nil, err
		}
		l.shas[text] = sha
	}
	return l.homely(l.redis.EvalSha(ctx, sha, keys, l.foreignAll(argv)...).Result())
}

func (l *lab) homely(reply any, err error) (any, error) {
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	switch r := reply.(type) {
	case string:
		return l.home(r), err
	case []any:
		for i := range r {
			r[i], _ = l.homely(r[i], nil)
		}
	}
	return reply, err
}

// heard returns the messages published since the last call, in order.
func (l *lab) heard(t testing.TB) [][2]string {
	t.Helper()
	l.private(t)
	const end = "heard: no more"
	ok(t, l.redis.Publish(t.Context(), end, "").Err())
	messages := [][2]string{}
	for {
		m := must(l.messages.ReceiveMessage(t.Context()))(t)
		if m.Channel == end {
			return messages
		}
		if channel := l.home(m.Channel); channel != "ql:oarlock:wake" {
			messages = append(messages, [2]string{channel, l.home(m.Payload)})
		}
	}
}

// storedKey is one key of a recorded keyspace.
type storedKey struct {
	Type  string
	Value any
	TTL   float64 // seconds; 0 means none
}

// keyspace reads everything in the database.
func (l *lab) keyspace(t testing.TB) map[string]storedKey {
	t.Helper()
	ctx := t.Context()
	names := must(l.redis.Keys(ctx, "*").Result())(t)
	keys := make(map[string]storedKey, len(names))
	for _, name := range names {
		kind := l.redis.Type(ctx, name).Val()
		ttl := max(l.redis.TTL(ctx, name).Val(), 0)
		var value any
		switch kind {
		case "hash":
			fields := map[string]any{}
			for f, v := range l.redis.HGetAll(ctx, name).Val() {
				fields[f] = l.home(v)
			}
			value = fields
		case "list":
			value = l.strings(l.redis.LRange(ctx, name, 0, -1).Val())
		case "set":
			members := l.redis.SMembers(ctx, name).Val()
			slices.Sort(members)
			value = l.strings(members)
		case "zset":
			pairs := []any{}
			for _, z := range l.redis.ZRangeWithScores(ctx, name, 0, -1).Val() {
				pairs = append(pairs, []any{l.home(z.Member.(string)), strconv.FormatFloat(z.Score, 'g', -1, 64)})
			}
			value = pairs
		case "string":
			value = l.home(l.redis.Get(ctx, name).Val())
		}
		keys[l.home(name)] = storedKey{kind, value, ttl.Seconds()}
	}
	return keys
}

func (l *lab) strings(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = l.home(w)
	}
	return out
}

// scenario is one line of a conformance file; see testdata/conformance/README.md.
type scenario struct {
	Name  string
	Quirk bool
	Seed  [][]string
	Steps []step
	Keys  map[string]storedKey
}

type step struct {
	Now           any // number or string
	Cmd           []string
	Keys, Argv    []string // in place of Now and Cmd
	Reply         recordedReply
	ErrorContains string `json:"error_contains"`
	Published     [][2]any
}

type recordedReply struct {
	Type  string
	Value any
}

// now is the time of a step as it is sent.
func (s step) now() string {
	if n, ok := s.Now.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return s.Now.(string)
}

// scenarios reads the conformance files of a dialect, by file name.
func scenarios(t testing.TB, dialect Dialect) map[string][]scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata/conformance", string(dialect), "*.jsonl"))
	stop(t, err != nil || len(paths) == 0, "no scenarios of %s: %v", dialect, err)
	files := make(map[string][]scenario)
	for _, path := range paths {
		text := must(os.ReadFile(path))(t)
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var s scenario
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			family := strings.TrimSuffix(filepath.Base(path), ".jsonl")
			files[family] = append(files[family], s)
		}
		if lines.Err() != nil {
			t.Fatalf("%s: %v", path, lines.Err())
		}
	}
	return files
}

// call runs one command, through the unified script or a script of its own.
type call func(ctx context.Context, l *lab, dialect Dialect, s step) (any, error)

func callUnified(ctx context.Context, l *lab, dialect Dialect, s step) (any, error) {
	keys, argv := s.Keys, s.Argv
	if s.Cmd != nil {
		argv = append([]string{s.Cmd[0], s.now()}, s.Cmd[1:]...)
	}
	return l.eval(ctx, l.text(dialect, ""), keys, argv)
}

func callScript(ctx context.Context, l *lab, dialect Dialect, s step) (any, error) {
	return l.eval(ctx, l.text(dialect, s.Cmd[0]), nil, append([]string{s.now()}, s.Cmd[1:]...))
}

// replay runs a scenario and returns everything that was not as recorded.
func (l *lab) replay(t testing.TB, dialect Dialect, s scenario, run call) []string {
	t.Helper()
	ctx := t.Context()
	var wrong []string
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	l.redis.FlushDB(ctx)
	for _, words := range s.Seed {
		must(l.do(ctx, words...))(t)
	}
	for i, st := range s.Steps {
		reply, err := run(ctx, l, dialect, st)
		where := fmt.Sprintf("step %d, %v %.200q", i, st.Now, append(st.Cmd, st.Argv...))
		if !sameReply(st, reply, err) {
			note("%s\n  replied %#v, error %v\n  expected %v %q", where, reply, err, st.Reply, st.ErrorContains)
		}
		heard := l.heard(t)
		if !slices.EqualFunc(st.Published, heard, func(want [2]any, got [2]string) bool {
			return want[0] == got[0] && sameValue("", want[1], got[1])
		}) {
			note("%s\n  published %q\n  expected %q", where, heard, st.Published)
		}
	}
	got := l.keyspace(t)
	for name, want := range s.Keys {
		if have, ok := got[name]; !ok || !sameKey(name, want, have) {
			note("key %s is\n  %v\n  expected %v", name, have, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := s.Keys[name]; !ok {
			note("key %s should not be there: %v", name, got[name])
		}
	}
	return wrong
}

func sameReply(st step, got any, err error) bool {
	if st.Reply.Type == "error" {
		return err != nil && strings.Contains(err.Error(), st.ErrorContains)
	}
	if err != nil {
		return false
	}
	switch st.Reply.Type {
	case "nil":
		return got == nil
	case "int":
		n, ok := got.(int64)
		return ok && float64(n) == st.Reply.Value
	case "bulk":
		return got == st.Reply.Value
	case "array":
		return reflect.DeepEqual(got, st.Reply.Value)
	case "json":
		return sameJSON(st.Reply.Value, got)
	}
	return false
}

// sameJSON reports whether text is JSON for want.
func sameJSON(want, text any) bool {
	s, ok := text.(string)
	if !ok {
		return false
	}
	var got any
	return json.Unmarshal([]byte(s), &got) == nil && sameValue("", want, got)
}

// sameValue compares by the rules of testdata/conformance/README.md; name is the
// member of an object the values come from.
func sameValue(name string, want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		if inner, ok := w["$json"]; ok && len(w) == 1 {
			return sameJSON(inner, got)
		}
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k, v := range w {
			if have, ok := g[k]; !ok || !sameValue(k, v, have) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		if name == "dependents" || name == "dependencies" {
			g = slices.SortedFunc(slices.Values(g), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		for i := range w {
			if !sameValue("", w[i], g[i]) {
				return false
			}
		}
		return true
	case float64:
		g, ok := got.(float64)
		if name == "ttl" && w > 0 {
			return ok && math.Abs(g-w) <= 5
		}
		return ok && (g == w || math.Abs(g-w) <= 1e-13*math.Abs(w))
	}
	return want == got
}

func sameKey(name string, want, got storedKey) bool {
	if want.Type != got.Type || (want.TTL == 0) != (got.TTL == 0) || math.Abs(want.TTL-got.TTL) > 5 {
		return false
	}
	durations := strings.HasPrefix(name, "ql:s:wait:") || strings.HasPrefix(name, "ql:s:run:")
	switch want.Type {
	case "hash":
		w, g := want.Value.(map[string]any), got.Value.(map[string]any)
		if len(w) != len(g) {
			return false
		}
		for f := range w {
			if durations && (f == "mean" || f == "vk") {
				if !closeTo(w[f], g[f], 1e-9) {
					return false
				}
			} else if have, ok := g[f]; !ok || !sameValue("", w[f], have) {
				return false
			}
		}
		return true
	case "zset":
		w, g := want.Value.([]any), got.Value.([]any)
		return slices.EqualFunc(w, g, func(a, b any) bool {
			x, y := a.([]any), b.([]any)
			return x[0] == y[0] && closeTo(x[1], y[1], 1e-12)
		})
	}
	return sameValue("", want.Value, got.Value)
}

// closeTo compares two numbers given as text.
func closeTo(a, b any, tolerance float64) bool {
	x, err1 := strconv.ParseFloat(fmt.Sprint(a), 64)
	y, err2 := strconv.ParseFloat(fmt.Sprint(b), 64)
	return err1 == nil && err2 == nil && (x == y || math.Abs(x-y) <= tolerance*max(1, math.Abs(x)))
}
