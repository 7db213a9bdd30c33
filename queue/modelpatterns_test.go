package queue

import "slices"

// The patterns of queues; see PROTOCOL.md, Annex A.

const (
	identifierKey, legacyIdentifierKey = "ql:qp:identifiers", "qmore:dynamic"
	priorityKey, legacyPriorityKey     = "ql:qp:priorities", "qmore:priority"

	anyQueue        = `["*"]`
	defaultPriority = `{"fairly": false, "pattern": ["default"]}`
)

func (m *model) identifierPatterns(words) recordedReply {
	stored := m.hash(identifierKey)
	if len(stored) == 0 {
		stored = m.hash(legacyIdentifierKey)
	}
	shown := map[string]any{"default": anyQueue}
	for name, list := range stored {
		shown[name] = list
	}
	return jsonReply(shown)
}

func (m *model) setIdentifierPatterns(w words) recordedReply {
	if len(w)%2 == 1 {
		refuse("Odd number")
	}
	patterns := map[string]any{"default": anyQueue}
	for i := 0; i < len(w); i += 2 {
		if luaLength(decodeJSON(w[i+1])) > 0 {
			patterns[w[i]] = w[i+1]
		}
	}
	m.hashes[identifierKey] = patterns
	delete(m.hashes, legacyIdentifierKey)
	return nothing()
}

// luaLength is what # says of a decoded value.
func luaLength(v any) int {
	if text, ok := v.(string); ok {
		return len(text)
	}
	return len(container(v))
}

func (m *model) priorityPatterns(words) recordedReply {
	for _, key := range []string{priorityKey, legacyPriorityKey} {
		if len(m.lists[key]) > 0 {
			return jsonReply(slices.Clone(m.lists[key]))
		}
	}
	return jsonReply([]any{defaultPriority})
}

func (m *model) setPriorityPatterns(w words) recordedReply {
	delete(m.lists, priorityKey)
	delete(m.lists, legacyPriorityKey)
	hasDefault := false
	for _, text := range w {
		members, ok := decodeJSON(text).(map[string]any)
		if !ok {
			refuse("")
		}
		luaLength(members["pattern"]) // refuses what has none
		list, _ := members["pattern"].([]any)
		hasDefault = hasDefault || len(list) == 1 && list[0] == "default"
	}
	list := anyList(w)
	if len(w) > 0 && !hasDefault {
		list = append(list, defaultPriority)
	}
	m.lists[priorityKey] = list
	return nothing()
}
