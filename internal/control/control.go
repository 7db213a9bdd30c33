// Package control is the socket over which the command line speaks to a running
// supervisor: HTTP with JSON on a Unix socket in the state directory, for the same
// user and root only.
package control

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Supervisor is what can be asked of a running supervisor. Its methods may be called
// at once by several goroutines.
type Supervisor interface {
	Asked(verb string, by Peer) // told first, whenever one of those below is to change something
	Status() any                // what the status command prints; it becomes JSON
	Quiet()
	Resume()
	Drain()
	Stop()
	Reload() any // what the reload command prints; it becomes JSON
	Scale(pool string, children int) error
	Recycle(pool string) error // "" means all pools
	// Output is what an attempt of a job printed, the last with that number, unless it is 0, and that run, unless it is empty; it becomes JSON.
	Output(ctx context.Context, jid string, attempt int, run string) (any, error)
}

// Peer is a process that asks.
type Peer struct {
	PID, UID int // of when it connected; 0 and −1 where the system does not tell
}

// maxPath is the longest path that a Unix socket can have.
const maxPath = 107

// pattern is the form of the sockets' names in the state directory, by process id.
const pattern = "control-%s.sock"

// Path is the socket of the supervisor with that process id and state directory. Where
// the directory's path is too long for a socket, it is one in the temporary directory.
func Path(stateDir, pid string) string {
	if abs, err := filepath.Abs(stateDir); err == nil {
		stateDir = abs
	}
	if path := filepath.Join(stateDir, fmt.Sprintf(pattern, pid)); len(path) <= maxPath {
		return path
	}
	sum := sha256.Sum256([]byte(stateDir))
	return filepath.Join(os.TempDir(), fmt.Sprintf("oarlock-%x-"+pattern, sum[:6], pid))
}

// Options are what a socket has beside the supervisor's verbs. The zero value will do.
type Options struct {
	Beside http.Handler      // answers what is none of the verbs; nil: nobody does. PeerOf tells it who asks
	Ready  func(path string) // is called when the socket answers; nil: nobody hears of it
	Log    *slog.Logger      // hears that the socket was removed below us; nil: nobody does
	// Refuse says why a process may ask nothing, "" if it may. It is asked once per connection, by
	// its first request, so that no other connection waits. Nil: all may.
	Refuse func(Peer) string
}

// lookAfter is how often it is looked whether the socket is still where it was made.
const lookAfter = 2 * time.Second

// Serve answers on the socket of this process until ctx ends, and returns when the socket is gone. Where somebody
// else removes it, it is made anew.
func Serve(ctx context.Context, stateDir string, s Supervisor, o Options) error {
	path := Path(stateDir, fmt.Sprint(os.Getpid()))
	listener, err := bind(ctx, stateDir, path)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	defer os.Remove(path)
	server := &http.Server{
		Handler: refusing(handler(s, o.Beside)), ReadHeaderTimeout: 5 * time.Second,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			peer := peerOf(conn)
			ctx = context.WithValue(ctx, peerKey{}, peer)
			if o.Refuse != nil {
				ctx = context.WithValue(ctx, refusedKey{}, sync.OnceValue(func() string { return o.Refuse(peer) }))
			}
			return ctx
		},
	}
	done := make(chan error, 1)
	accept := func() { done <- server.Serve(guarded{listener}) }
	go accept()
	if o.Ready != nil {
		o.Ready(path)
	}
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	for {
		select {
		case err = <-done:
			return fmt.Errorf("control socket: %w", err)
		case <-ctx.Done():
			return leave(ctx, server, done)
		case <-look.C:
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			again, err := bind(ctx, stateDir, path)
			if err != nil {
				continue // there is no room for it yet
			}
			if o.Log != nil {
				o.Log.Warn("the control socket was removed; it was made anew", "path", path)
			}
			listener.Close() // nobody finds it any more; what was asked by it is answered
			<-done
			listener = again
			go accept()
		}
	}
}

// leave ends a server, and returns when nobody serves any more.
func leave(ctx context.Context, server *http.Server, done <-chan error) error {
	// A request under way, such as the one that asked us to leave, gets its answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := server.Shutdown(ctx)
	<-done
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// bind makes the state directory and the socket.
func bind(ctx context.Context, stateDir, path string) (net.Listener, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, err
	}
	removeDead(ctx, stateDir)
	return listen(ctx, path)
}

// listen makes the socket under another name and gives it its own when it answers: one that
// can be seen and does not answer is of a process that is gone.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if _, err := os.Lstat(path); err == nil && !dead(ctx, path) {
		return nil, fmt.Errorf("%s is that of another supervisor, perhaps one with our number in another container; give each a state_dir of its own", path)
	}
	making := strings.TrimSuffix(path, ".sock") + ".new"
	_ = os.Remove(making) // of a process that had our number before us
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: making, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(making, 0o600)
	if err == nil {
		err = os.Rename(making, path)
	}
	if err != nil {
		listener.Close()
		return nil, errors.Join(err, os.Remove(making))
	}
	return listener, nil
}

// removeDead removes the sockets of supervisors that were killed: those that are ours and at
// which nobody listens.
func removeDead(ctx context.Context, stateDir string) {
	paths, err := sockets(stateDir)
	if err != nil {
		return
	}
	for path := range paths {
		if dead(ctx, path) {
			_ = os.Remove(path)
		}
	}
}

// dead reports whether path is the socket of a process that is gone. A supervisor in another
// container may share the directory and have any number, but it answers.
func dead(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket || ownerOf(path) != os.Geteuid() {
		return false
	}
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// sockets are the paths of the control sockets of stateDir, and whose each is by its name.
func sockets(stateDir string) (pids map[string]string, err error) {
	before, after, _ := strings.Cut(Path(stateDir, "*"), "*")
	paths, err := filepath.Glob(before + "*" + after)
	pids = make(map[string]string, len(paths))
	for _, path := range paths {
		pids[path] = strings.TrimSuffix(strings.TrimPrefix(path, before), after)
	}
	return pids, err
}

// guarded takes connections of the same user and of root, and closes all others. The
// mode of the socket says so too; this holds where somebody changed it.
type guarded struct{ net.Listener }

func (g guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if trusted(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

// peerKey is what the context of a request has its peer under.
type peerKey struct{}

// PeerOf is who makes a request of a socket, from the request's context.
func PeerOf(ctx context.Context) Peer {
	peer, ok := ctx.Value(peerKey{}).(Peer)
	if !ok {
		return Peer{UID: -1}
	}
	return peer
}

// refusedKey is what the context of a request has under it a function that says why its peer may ask nothing.
type refusedKey struct{}

// refusing answers those who may ask nothing, and hands on the others.
func refusing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused, is := r.Context().Value(refusedKey{}).(func() string); is {
			if why := refused(); why != "" {
				http.Error(w, why, http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// handler routes the verbs, and hands the rest to beside, if that is not nil.
func handler(s Supervisor, beside http.Handler) http.Handler {
	mux := http.NewServeMux()
	if beside != nil {
		mux.Handle("/", beside)
	}
	asked := func(verb string, r *http.Request) {
		s.Asked(verb, PeerOf(r.Context()))
	}
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status()) // the client is gone if it fails
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, r *http.Request) {
		asked("reload", r)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Reload())
	})
	mux.HandleFunc("GET /output", func(w http.ResponseWriter, r *http.Request) {
		attempt, err := strconv.Atoi(r.FormValue("attempt"))
		if err != nil {
			http.Error(w, "attempt is no number", http.StatusBadRequest)
			return
		}
		answer, err := s.Output(r.Context(), r.FormValue("jid"), attempt, r.FormValue("run"))
		if err != nil {
			status := http.StatusUnprocessableEntity
			if nothing := (*Nothing)(nil); errors.As(err, &nothing) {
				status = http.StatusNotFound
			}
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client is gone if it fails
	})
	simple := func(verb func()) func(request) error {
		return func(request) error { verb(); return nil }
	}
	for name, verb := range map[string]func(request) error{
		"quiet":   simple(s.Quiet),
		"resume":  simple(s.Resume),
		"drain":   simple(s.Drain),
		"stop":    simple(s.Stop),
		"scale":   func(r request) error { return s.Scale(r.Pool, r.Children) },
		"recycle": func(r request) error { return s.Recycle(r.Pool) },
	} {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			var args request
			if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			asked(name, r)
			if err := verb(args); err != nil {
				http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			}
		})
	}
	return mux
}

// request is the body of every POST.
type request struct {
	Pool     string `json:"pool,omitempty"`
	Children int    `json:"children,omitempty"`
}
