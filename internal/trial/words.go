package trial

import (
	"encoding/json"
	"fmt"

	"oarlock/internal/screen"
	"oarlock/protocol"
	"oarlock/runner"
)

// wishLine is the line that says w.
func wishLine(w *protocol.Wish) string {
	line := map[string]any{"@": w.Verb}
	add := func(name string, value any, there bool) {
		if there {
			line[name] = value
		}
	}
	add("jid", w.JID, w.JID != "")
	add("tags", w.Tags, len(w.Tags) > 0)
	add("priority", w.Priority, w.Verb == protocol.VerbPriority)
	add("message", w.Message, w.Message != "")
	add("data", json.RawMessage(w.Data), w.Data != nil)
	add("queue", w.Queue, w.Queue != "")
	add("delay", w.Delay.Seconds(), w.Delay > 0)
	return screen.Compact(line)
}

// verdictLine is the line that says v.
func verdictLine(v *protocol.Verdict) string {
	line := fmt.Sprintf(`{"@":"%s"`, v.Kind)
	add := func(key, value string) { line += fmt.Sprintf(`,"%s":%s`, key, value) }
	if v.Group != "" {
		add("group", screen.Compact(v.Group))
	}
	if v.Message != "" {
		add("message", screen.Compact(v.Message))
	}
	if v.Next != "" {
		add("next", screen.Compact(v.Next))
	}
	if v.Delay != nil {
		add("delay", fmt.Sprint(v.Delay.Seconds()))
	}
	if len(v.Depends) > 0 {
		add("depends", screen.Compact(v.Depends))
	}
	if v.Klass != "" {
		add("klass", screen.Compact(v.Klass))
	}
	if v.Raised {
		add("raised", "true")
	}
	if v.Data != nil {
		add("data", string(v.Data))
	}
	return line + "}"
}

// exitText says how a child left.
func exitText(exit runner.Exit) string {
	text := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != 0 {
		text = exit.Signal.String()
	}
	if exit.Message != "" {
		text += ": " + exit.Message
	}
	return text
}
