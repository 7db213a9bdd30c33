package main

import (
	"cmp"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows are the packages and what of ours each may import. The map is the plan of the
// house: an arrow that is not in it is a mistake, here or there.
var arrows = map[string][]string{
	".":              {"internal/cli", "runner"},
	"protocol":       {},
	"runner":         {"internal/nowait", "internal/placeholder", "protocol", "runner/internal/preload", "runner/internal/private", "runner/internal/proc", "runner/internal/tree"},
	"internal/bench": {"internal/config", "internal/embedded", "internal/screen", "queue", "queue/admin", "runner", "supervisor"},
	"internal/cli": {
		"internal/bench",
		"internal/census",
		"internal/cmdline",
		"internal/config",
		"internal/connect",
		"internal/console",
		"internal/control",
		"internal/cron",
		"internal/demo",
		"internal/doctor",
		"internal/embedded",
		"internal/explain",
		"internal/hub",
		"internal/logging",
		"internal/names",
		"internal/ops",
		"internal/output",
		"internal/plan",
		"internal/redact",
		"internal/rollcall",
		"internal/rules",
		"internal/say",
		"internal/schedule",
		"internal/screen",
		"internal/service",
		"internal/setup",
		"internal/show",
		"internal/top",
		"internal/trial",
		"internal/web",
		"internal/webbench",
		"protocol",
		"queue",
		"queue/admin",
		"runner",
		"supervisor",
	},
	"internal/census":        {"internal/rules", "queue"},
	"internal/cmdline":       {"internal/config"},
	"internal/accord":        {"internal/rules", "internal/window", "queue"},
	"internal/callback":      {},
	"internal/config":        {"internal/callback", "internal/placeholder", "internal/redisurl", "internal/rules", "internal/schedule", "internal/shebang"},
	"internal/connect":       {"internal/config", "internal/control", "internal/embedded", "queue"},
	"internal/console":       {"internal/logging", "internal/screen", "protocol", "runner", "supervisor"},
	"internal/control":       {},
	"internal/cron":          {"internal/schedule", "queue"},
	"internal/asked":         {},
	"internal/decider":       {"internal/asked", "queue"},
	"internal/demo":          {"internal/screen", "queue", "runner", "supervisor"},
	"internal/doctor":        {"internal/config", "internal/control", "internal/plan", "internal/setup", "queue", "queue/admin", "runner", "supervisor"},
	"internal/embedded":      {},
	"internal/explain":       {"internal/accord", "internal/rules", "internal/screen", "internal/window", "queue", "supervisor"},
	"internal/health":        {"supervisor"},
	"internal/hub":           {"protocol", "queue", "runner", "supervisor"},
	"internal/logging":       {"internal/screen", "protocol"},
	"internal/metrics":       {"internal/census", "internal/decider", "protocol", "queue", "runner", "supervisor"},
	"internal/names":         {"internal/accord", "internal/rules", "internal/config", "internal/connect", "internal/control", "queue", "supervisor"},
	"internal/nowait":        {},
	"internal/glob":          {},
	"internal/placeholder":   {},
	"internal/ops":           {"internal/accord", "internal/rules", "internal/window", "internal/config", "internal/cron", "internal/doctor", "internal/explain", "internal/putline", "internal/redact", "internal/schedule", "internal/screen", "queue", "supervisor"},
	"internal/output":        {"protocol", "runner"},
	"internal/plan":          {"internal/config", "internal/decider", "internal/putline", "protocol", "queue", "runner", "supervisor"},
	"internal/putline":       {"internal/config", "queue"},
	"internal/redact":        {},
	"internal/redisurl":      {},
	"internal/rollcall":      {"queue", "supervisor"},
	"internal/rules":         {"internal/glob", "internal/schedule", "internal/window"},
	"internal/say":           {"internal/screen", "protocol"},
	"internal/schedule":      {},
	"internal/screen":        {"protocol"},
	"internal/service":       {"internal/accord", "internal/callback", "internal/census", "internal/config", "internal/connect", "internal/control", "internal/cron", "internal/decider", "internal/doctor", "internal/health", "internal/hub", "internal/logging", "internal/metrics", "internal/output", "internal/plan", "internal/redact", "internal/rollcall", "internal/rules", "internal/screen", "internal/systemd", "internal/web", "queue", "queue/admin", "runner", "supervisor"},
	"internal/setup":         {"internal/config", "internal/screen"},
	"internal/shebang":       {},
	"internal/show":          {"internal/rules", "internal/config", "internal/doctor", "internal/explain", "internal/hub", "internal/logging", "internal/ops", "internal/output", "internal/rollcall", "internal/schedule", "internal/screen", "internal/service", "queue", "supervisor"},
	"internal/systemd":       {},
	"internal/top":           {"internal/ops", "internal/rollcall", "internal/screen", "internal/service", "internal/show", "supervisor"},
	"internal/trial":         {"internal/screen", "protocol", "queue", "runner", "supervisor"},
	"internal/web":           {"internal/census", "internal/doctor", "internal/explain", "internal/hub", "internal/ops", "internal/redact", "internal/rollcall", "internal/rules", "internal/screen", "internal/web/assets", "internal/web/chart", "internal/web/pages", "queue", "supervisor"},
	"internal/webbench":      {"internal/screen", "queue", "queue/admin"},
	"internal/web/assets":    {},
	"internal/web/chart":     {},
	"internal/web/pagestest": {"internal/web/chart", "internal/web/pages", "supervisor"}, // for tests
	"internal/web/pages":     {"internal/screen", "internal/web/assets", "internal/web/chart", "protocol", "supervisor"},
	"internal/window":        {"internal/schedule"},
	"internal/check":         {}, // the gate, a program of its own
	"internal/faultproxy":    {}, // these, too, are for tests
	"internal/redistest":     {},
	"internal/must":          {},
	"internal/screentest":    {},
	"internal/wallstep":      {},
	"integration":            {},
	"integration/browser":    {}, // a module of its own
	"contrib/otlp":           {}, // another

	"queue":                     {"internal/glob", "internal/redisurl", "internal/window", "queue/internal/bounds", "queue/internal/clock", "queue/internal/connection", "queue/internal/jid", "queue/internal/script", "queue/internal/wire"},
	"queue/admin":               {"queue", "queue/internal/bounds", "queue/internal/wire"},
	"queue/internal/bounds":     {},
	"queue/internal/clock":      {"internal/nowait"},
	"queue/internal/connection": {"internal/nowait", "internal/redisurl"},
	"queue/internal/jid":        {},
	"queue/internal/script":     {"queue/internal/bounds", "queue/lua"},
	"queue/internal/wire":       {},
	"queue/lua":                 {},

	// below the runner
	"runner/internal/early":      {},
	"runner/internal/preload":    {"protocol", "runner/internal/tree"},
	"runner/internal/private":    {},
	"runner/internal/proc":       {},
	"runner/internal/runnertest": {"runner/internal/proc"}, // for tests
	"runner/internal/tree":       {"internal/shebang", "runner/internal/early", "runner/internal/proc"},

	"supervisor":                  {"protocol", "queue", "runner", "supervisor/internal/clock", "supervisor/internal/gate", "supervisor/internal/inbox", "supervisor/internal/intake", "supervisor/internal/lists", "supervisor/internal/lookout", "supervisor/internal/pool", "supervisor/internal/starts", "supervisor/internal/statedir", "supervisor/internal/wire", "supervisor/outcome", "supervisor/report"},
	"supervisor/internal/births":  {"supervisor/internal/clock"},
	"supervisor/internal/breaker": {"protocol", "supervisor/outcome"},
	"supervisor/internal/clock":   {"internal/nowait"},
	"supervisor/internal/gate":    {"queue"},
	"supervisor/internal/inbox":   {},
	"supervisor/internal/intake":  {"queue", "supervisor/internal/clock", "supervisor/internal/gate", "supervisor/report"},
	"supervisor/internal/lists":   {"queue", "supervisor/internal/clock", "supervisor/internal/gate"},
	"supervisor/internal/lookout": {"queue", "supervisor/internal/clock", "supervisor/internal/gate", "supervisor/internal/menu"},
	"supervisor/internal/menu":    {"queue"},
	"supervisor/internal/pace":    {"supervisor/internal/clock"},
	"supervisor/internal/pool": {
		"protocol",
		"queue",
		"runner",
		"supervisor/internal/births",
		"supervisor/internal/breaker",
		"supervisor/internal/clock",
		"supervisor/internal/gate",
		"supervisor/internal/inbox",
		"supervisor/internal/lookout",
		"supervisor/internal/menu",
		"supervisor/internal/pace",
		"supervisor/internal/proof",
		"supervisor/internal/scale",
		"supervisor/internal/starts",
		"supervisor/internal/statedir",
		"supervisor/internal/trace",
		"supervisor/internal/wire",
		"supervisor/outcome",
		"supervisor/report",
	},
	"supervisor/internal/proof":    {"queue", "supervisor/outcome"},
	"supervisor/internal/scale":    {},
	"supervisor/internal/starts":   {"supervisor/internal/clock"},
	"supervisor/internal/statedir": {"queue", "runner", "supervisor/internal/gate", "supervisor/outcome"},
	"supervisor/internal/trace":    {"protocol", "queue"},
	"supervisor/internal/wire":     {"protocol", "queue", "supervisor/internal/trace"},
	"supervisor/outcome":           {"internal/asked", "protocol", "queue", "runner", "supervisor/internal/clock"},
	"supervisor/report":            {"protocol", "queue", "runner", "supervisor/internal/gate", "supervisor/outcome"},
}

// strangers are packages that only some may know: Redis stays in the queue, processes
// stay in the runner.
var strangers = map[string][]string{
	"github.com/redis/go-redis/v9": {"queue", "queue/admin", "queue/internal/connection", "internal/redistest"},
	"os/exec":                      {"runner/internal/runnertest", "runner/internal/tree", "internal/bench", "internal/check", "internal/config", "internal/demo", "internal/embedded", "internal/must", "internal/redistest", "internal/webbench"},
}

func TestArrows(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := path.Dir(filepath.ToSlash(file))
		allowed, known := arrows[from]
		if !known {
			t.Errorf("%s: the package is not on the map", file)
		}
		for _, spec := range parsed.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if may, strange := strangers[to]; strange && !slices.Contains(may, from) {
				t.Errorf("%s: %s must not know %s", file, from, to)
			}
			ours, isOurs := strings.CutPrefix(to, "oarlock/")
			if isOurs && !slices.Contains(allowed, ours) {
				t.Errorf("%s: there must be no arrow from %s to %s", file, from, ours)
			}
			if first, _, _ := strings.Cut(to, "/"); from == "protocol" && strings.Contains(first, ".") {
				t.Errorf("%s: protocol uses the standard library only, not %s", file, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeysOfRedis checks that no code but the queue's reaches for the driver behind a client, or for
// the namespace, without which nobody builds a key. What is missing becomes a method of the queue.
func TestKeysOfRedis(t *testing.T) {
	builds := regexp.MustCompile(`\.(Redis|Namespace)\(\)`)
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (file == "queue" || entry.Name() == "testdata" || entry.Name() == "node_modules") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if found := builds.Find(text); found != nil {
			t.Errorf("%s: %s is for the queue alone", file, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
