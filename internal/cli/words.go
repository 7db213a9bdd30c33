package cli

import "oarlock/queue"

// closedWords are the values of options that take no others, by what their usages call them: a shell completes them.
var closedWords = map[string][]string{
	"COLUMN":   {"jid", "klass", "tries", "time", "put", "key"},
	"ENDING":   {"complete", "fail"},
	"EXISTING": {"replace", "final", "never"},
	"LEVEL":    {"debug", "info", "warn", "error"},
	"MERGE":    {"all", "set", "last", "first", "none"},
	"MISSED":   {"run-once", "run-all", "skip"},
	"NEXT":     {"resume", "complete"},
	"ORDER":    {"blocked", "name"},
	"OVERLAP":  {"allow", "skip", "queue-one"},
	"STATE":    queue.ClearStates,
}
