// Package web answers over HTTP what people and programs ask of the jobs in Redis and of the supervisor of this process,
// and does what they want done: pages, and an API in JSON. It owns its doors, who may come in and do what, and a
// connection to Redis of its own, so that nobody who looks takes anything from those who work. It must not know the
// driver of Redis, processes, the configuration, or how a supervisor works.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"oarlock/internal/census"
	"oarlock/internal/hub"
	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/rules"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Supervisor is the one that runs in this process. Its methods may be called by several goroutines at once.
type Supervisor interface {
	ops.Running
	Snapshot() supervisor.Snapshot
	// Status is what `oarlock status --json` prints where the supervisor is as shot says; it becomes JSON.
	Status(shot supervisor.Snapshot) any
	Reload(by string) any // what `oarlock reload --json` prints; it becomes JSON

	// As the methods of supervisor.Supervisor of the same names.
	QuietPool(pool string) error
	ResumePool(pool string) error
	RecycleSlot(pool string, slot int) error
	StopRun(pool, run string) error
	AbandonRoll(pool string) error
}

// Options are what an App works with. Redis and Log are wanted.
type Options struct {
	Redis      *queue.Client // for the App alone: few connections, little patience. It stays the caller's
	Supervisor Supervisor    // nil: none runs in this process
	// Elsewhere finds the supervisor in another process of this host, which answers by itself what is asked here; nil if there is
	// none now. Nil: it is not looked for.
	Elsewhere func(context.Context) http.RoundTripper
	Log       *slog.Logger
	Version   string // of this program
	Host      string // by which name Redis knows the supervisors of this host

	Others Others         // nil: nobody else is asked how it is
	Census *census.Keeper // what is in all queues; whoever made it runs it
	Hub    *hub.Hub       // what happened lately in this process; nil: nothing is remembered

	Rules func() rules.File // what the configuration of the supervisor says of rules; nil: there is none here
	// Disagrees are sentences on which of these do not count, and what to do; nil: nothing is known of that.
	Disagrees func() []string

	Klasses func() ops.FileKlasses // what it says of classes of jobs, for those who work them; nil: likewise

	Monitor Monitor // what is told to those who watch the process

	Prefix   string // of all paths, as "/oarlock", where a proxy has it so; "" is none. It may be cut off on the way, or not
	ReadOnly bool   // nobody may change anything
	Risk     string // what strangers on the network could see by a door of this process, a sentence; "" is nothing

	// Callback reports whether a token lets whoever shows it answer the job of that class and jid. Nil: none does.
	Callback func(klass, jid, token string) bool

	Redactor   *redact.Redactor // blanks what is secret in what is told; nil: nothing is
	MaxStreams int              // how many may listen at a time; 0 is 1,000
}

// App is the one handler behind all doors. Its methods may be called by several goroutines at once.
type App struct {
	o      Options
	routes []Route
	mux    *http.ServeMux
	limits limits
	deeds  deeds

	backlogs kept[ops.Backlogs]         // of many queues
	workers  kept[[]queue.WorkerCounts] // that Redis knows
	windows  kept[map[string][]string]  // of queues, in words

	looks ops.Looks // at queues, for their outlooks
	shots shots
	seen  seen
	// examined is what a doctor found last.
	examined examined
	// changing are the patterns of pages that change by themselves.
	changing map[string]bool
	written  func() *pages.Book // reads the pages, once
	redactor redactor
	monitors map[string]bool // the patterns of routes that a Door.Monitor has
	health   map[string]bool // those of routes that tell whether we live, which have connections of their own
}

// New makes an App, which starts nothing.
func New(o Options) *App {
	a := &App{o: o, mux: http.NewServeMux(), limits: newLimits(o.MaxStreams), redactor: redactor{o.Redactor}, backlogs: newKept[ops.Backlogs](), workers: newKept[[]queue.WorkerCounts](), windows: newKept[map[string][]string]()}
	if o.Supervisor != nil {
		a.o.Supervisor = blanked{o.Supervisor, a.redactor}
	}
	if o.Others != nil {
		a.o.Others = blankedOthers{o.Others, a.redactor}
	}
	a.o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	a.shots.of = a.o.Supervisor
	a.written = sync.OnceValue(func() *pages.Book { return pages.New(a.o.Prefix) })
	a.routes = a.table()
	a.monitors, a.health = map[string]bool{}, map[string]bool{}
	for _, route := range a.monitorRoutes() {
		a.monitors[route.pattern()] = true
		a.health[route.pattern()] = route.Right == Open
	}
	for i := range a.routes {
		a.mux.Handle(a.routes[i].pattern(), entrance{a, &a.routes[i]})
	}
	return a
}

// Routes are all that can be asked. The caller must not change them.
func (a *App) Routes() []Route { return a.routes }
