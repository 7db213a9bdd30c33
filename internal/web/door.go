package web

import (
	"net/http"
	"time"
)

// Proof is how somebody showed who that is.
type Proof int

// The proofs. Only a browser sends one along without being asked to by its page.
const (
	ByDoor   Proof = iota + 1 // whoever comes by this door may
	ByBearer                  // Authorization: Bearer
	ByBasic                   // Authorization: Basic
	ByCookie                  // what login left
	ByProxy                   // a header of a proxy
)

// Door is one way in, and who may come by it. It must not be changed once it is in use.
type Door struct {
	Name string // for the audit: "control socket"
	// Private is a door that no browser can come by, as a socket of this user's: names and origins are not asked.
	Private  bool
	ReadOnly bool     // nobody who comes by it may change anything
	Hosts    []string // by which names it is reached, beside localhost and addresses
	// Who says who asks. The error is answered.
	Who func(*http.Request) (Caller, Proof, error)

	origins http.CrossOriginProtection
}

func (d *Door) who(r *http.Request) (Caller, Proof, error) { return d.Who(r) }

// Handler is the App by way of a door.
func (a *App) Handler(d *Door) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(d, w, r) })
}

// readOnlyHeader takes the right to change anything from a request: `oarlock web --read-only` sends it to the supervisor.
const readOnlyHeader = "X-Oarlock-Read-Only"

// How long a client may take, and how much it may send.
const (
	headerPatience = 5 * time.Second
	bodyPatience   = 30 * time.Second
	answerPatience = 90 * time.Second // a call may wait 60 s for a job
	idlePatience   = 60 * time.Second
	mostHeader     = 32 << 10
	defaultBody    = 1 << 20
)

// Server is an http.Server for h with the patience of ours; its maker sets where it logs.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: mostHeader}
}
