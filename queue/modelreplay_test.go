package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// beyondModel are families and scenarios about what the model leaves out.
var beyondModel = []string{
	"throttles that are an object",
	"commands of the other dialect are unknown", // here each model has a dialect of its own
}

// TestModelConformance replays the recorded scenarios against the model. It has to
// differ from them where the scripts mean to, and nowhere else.
func TestModelConformance(t *testing.T) {
	for _, dialect := range []Dialect{Qless, Reqless} {
		for family, list := range scenarios(t, dialect) {
			for _, s := range list {
				if slices.Contains(beyondModel, family) || slices.Contains(beyondModel, s.Name) {
					continue
				}
				reason, differs := deviations[dialect][s.Name]
				wrong := replayModel(dialect, s)
				switch {
				case !differs && len(wrong) > 0:
					t.Errorf("%s/%s: %s\n%s", dialect, family, s.Name, strings.Join(wrong, "\n"))
				case differs && len(wrong) == 0:
					t.Errorf("%s/%s: %s: as recorded, although %s", dialect, family, s.Name, reason)
				}
			}
		}
	}
}

// replayModel runs a scenario on the model and returns everything that was not as
// recorded.
func replayModel(dialect Dialect, s scenario) (wrong []string) {
	m := newModel(dialect)
	for _, words := range s.Seed {
		m.seed(words)
	}
	for i, st := range s.Steps {
		played := m.call(st)
		if !samePlay(st, played) {
			wrong = append(wrong, fmt.Sprintf("step %d, %v %.200q\n  model: %v %q %q\n  recorded: %v %q %q", i, st.Now,
				append(st.Cmd, st.Argv...), played.Reply, played.ErrorContains, played.Published, st.Reply, st.ErrorContains, st.Published))
		}
	}
	keys := m.recorded()
	for name, k := range keys {
		k.Value = written(k.Value)
		keys[name] = k
	}
	return append(wrong, keyDifferences(s.Keys, keys)...)
}

// seed runs one of the plain Redis commands that prepare scenarios.
func (m *model) seed(words []string) {
	switch key := words[1]; words[0] {
	case "HSET":
		for i := 2; i < len(words); i += 2 {
			m.hash(key)[words[i]] = words[i+1]
		}
	case "ZADD":
		score, _ := luaNumber(words[2])
		m.add(key, score, words[3])
	case "RPUSH":
		m.lists[key] = append(m.lists[key], anyList(words[2:])...)
	default:
		panic("seed: " + words[0])
	}
}

// samePlay compares a recorded step with what the model made of it.
func samePlay(want, got step) bool {
	if !slices.EqualFunc(want.Published, got.Published, func(w, g [2]any) bool {
		return w[0] == g[0] && sameValue("", w[1], g[1])
	}) {
		return false
	}
	if want.Reply.Type == "error" {
		return got.Reply.Type == "error" && strings.Contains(got.ErrorContains, want.ErrorContains)
	}
	switch got.Reply.Type {
	case "error":
		return false
	case "int":
		return sameReply(want, int64(got.Reply.Value.(float64)), nil)
	case "json":
		return sameReply(want, asText(got.Reply.Value), nil)
	}
	return sameReply(want, got.Reply.Value, nil)
}

// asText writes a value of the model as a script would, but for the order of
// members.
func asText(v any) string {
	text, err := json.Marshal(written(v))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// written puts one text in place of each that is known by its meaning only.
func written(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = written(v[i])
		}
		return out
	case map[string]any:
		if inner, ok := v["$json"]; ok {
			return asText(inner)
		}
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = written(v[name])
		}
		return out
	}
	return v
}

// keyDifferences compares a recorded keyspace with another, whose texts are known.
func keyDifferences(want, got map[string]storedKey) (wrong []string) {
	for name, w := range want {
		if have, ok := got[name]; !ok || !sameKey(name, w, have) {
			wrong = append(wrong, fmt.Sprintf("key %s is\n  %v\n  expected %v", name, have, w))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("key %s should not be there: %v", name, got[name]))
		}
	}
	return wrong
}
