package control

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// patience is how long an answer may take. A reload that is refused needs none of it.
	patience = 30 * time.Second
	// statusPatience is how long that to status may: who asks at night has something to do, and it waits for nobody longer than a second.
	statusPatience = 10 * time.Second
)

// mostOthers is how many supervisors elsewhere are named where none is found.
const mostOthers = 3

// Nothing says that what was asked for is not there.
type Nothing struct{ Text string }

func (n *Nothing) Error() string { return n.Text }

// ErrNone says that no supervisor runs with the state directory.
var ErrNone = errors.New("no supervisor is running")

// Client speaks to one running supervisor.
type Client struct {
	PID string // of the supervisor, as it knows itself: in a container of its own it has another one here
	// Waits, if not nil, is told once for each question, in a sentence, that there is no answer after two seconds, and for how long it is waited for. It is called by
	// a goroutine of its own.
	Waits func(sentence string)

	after func(time.Duration, func()) (stop func() bool)
	dial  func(context.Context) (net.Conn, error)
	http  http.Client
}

// Find gives a client for the supervisor that runs with stateDir. pid chooses among
// several, and may be that of one with another state directory; "" means that there is one. It returns ErrNone, or an error that names the
// process ids or the user who may ask, if it is not so.
//
// Root may ask the supervisor of whoever owns stateDir.
func Find(ctx context.Context, stateDir, pid string) (*Client, error) {
	owner := ownerOf(stateDir)
	_, err := os.ReadDir(stateDir)
	closed := errors.Is(err, fs.ErrPermission) // or some socket is, to us
	var trust []int
	if os.Geteuid() == 0 {
		trust = []int{owner}
	}
	var alive []*Client
	paths, err := sockets(stateDir)
	if err != nil {
		return nil, err
	}
	for path, its := range paths {
		if pid != "" && its != pid {
			continue
		}
		conn, err := dial(ctx, path, trust)
		if err != nil { // of a process that is gone, or not for us
			closed = closed || errors.Is(err, fs.ErrPermission)
			continue
		}
		conn.Close()
		alive = append(alive, newClient(its, path, trust))
	}
	switch len(alive) {
	case 0:
		elsewhere := elsewhere(ctx, trust)
		if path := elsewhere[pid]; path != "" {
			return newClient(pid, path, trust), nil
		}
		if closed {
			return nil, fmt.Errorf("the state directory %s is that of %s: ask as that user, or as root", stateDir, userName(owner))
		}
		return nil, noneError(stateDir, pid, elsewhere)
	case 1:
		return alive[0], nil
	}
	var pids []string
	for _, client := range alive {
		pids = append(pids, client.PID)
	}
	slices.Sort(pids)
	return nil, fmt.Errorf("%d supervisors run with the state directory %s; name one: --pid %s", len(alive), stateDir, strings.Join(pids, " or --pid "))
}

// Mine gives clients for all supervisors of this user, and those of root that let us ask, that run on this
// host with stateDir, or, where the kernel lists them, with another.
func Mine(ctx context.Context, stateDir string) []*Client {
	found := elsewhere(ctx, nil)
	if found == nil {
		found = map[string]string{}
	}
	paths, _ := sockets(stateDir) // its error is about a pattern; there are none then
	for path, pid := range paths {
		if conn, err := dial(ctx, path, nil); err == nil {
			conn.Close()
			found[pid] = path
		}
	}
	var clients []*Client
	for _, pid := range slices.Sorted(maps.Keys(found)) {
		clients = append(clients, newClient(pid, found[pid], nil))
	}
	return clients
}

// newClient is a client of the supervisor with that process id, at the socket path.
func newClient(pid, path string, others []int) *Client {
	client := &Client{PID: pid, after: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }, dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, path, others) }}
	client.http.Timeout = patience
	client.http.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return client.dial(ctx) },
	}
	return client
}

// newest orders process ids, as words, so that those come first that were given last, as long as the system counts up.
func newest(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
}

// noneError says that no supervisor runs with stateDir, and which do elsewhere: each socket by its
// process id.
func noneError(stateDir, pid string, others map[string]string) error {
	if pid != "" {
		return fmt.Errorf("%w with the process id %s that we may ask", ErrNone, pid)
	}
	err := fmt.Errorf("%w with the state directory %s", ErrNone, stateDir)
	pids := slices.SortedFunc(maps.Keys(others), newest)
	for _, its := range pids[:min(len(pids), mostOthers)] {
		err = fmt.Errorf("%w\none runs with %s; if that is the one, because state_dir was changed since it started: --pid %s", err, filepath.Dir(others[its]), its)
	}
	if more := len(pids) - mostOthers; more > 0 {
		err = fmt.Errorf("%w\nand %d more", err, more)
	}
	return err
}

// dial connects to a socket whose owner we trust, as one of others.
func dial(ctx context.Context, path string, others []int) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if !trusted(conn, others...) {
		conn.Close()
		return nil, fmt.Errorf("%s belongs to somebody else: %w", path, fs.ErrPermission)
	}
	return conn, nil
}

// userName is the name of a user, for people to read.
func userName(id int) string {
	if id < 0 {
		return "another user"
	}
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return "user " + u.Username
	}
	return fmt.Sprintf("user %d", id)
}

// Status decodes what the supervisor says of itself into out, a pointer.
func (c *Client) Status(ctx context.Context, out any) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	return c.do(ctx, http.MethodGet, "status", nil, out)
}

// Reload asks for a reload and decodes what it did into out, a pointer.
func (c *Client) Reload(ctx context.Context, out any) error {
	return c.do(ctx, http.MethodPost, "reload", request{}, out)
}

// Output decodes what an attempt of a job printed, the last with that number, unless it is 0, and that run, unless it is empty, into out, a pointer.
func (c *Client) Output(ctx context.Context, jid string, attempt int, run string, out any) error {
	query := url.Values{"jid": {jid}, "attempt": {strconv.Itoa(attempt)}, "run": {run}}
	return c.do(ctx, http.MethodGet, "output?"+query.Encode(), nil, out)
}

// Page copies what the supervisor answers at a path, such as "metrics", to a writer.
func (c *Client) Page(ctx context.Context, path string, to io.Writer) error {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://oarlock/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := c.ask(call)
	if err != nil {
		return c.unanswered("ask supervisor "+c.PID+" for "+path, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("supervisor %s answers %s to %s: is it of this version?", c.PID, answer.Status, path)
	}
	_, err = io.Copy(to, answer.Body)
	return err
}

// Follow reads what the supervisor tells at a path, such as "api/v1/events?kinds=parked", as server-sent events, and gives the data of each to hear, until
// ctx ends or hear returns an error, which it returns then. The data is the callee's during the call only. Where the supervisor ends the stream, for it leaves, it returns io.EOF.
func (c *Client) Follow(ctx context.Context, path string, hear func(data []byte) error) error {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://oarlock/"+path, nil)
	if err != nil {
		return err
	}
	call.Header.Set("Accept", "text/event-stream")
	patient := http.Client{Transport: c.http.Transport} // it may be long until anything happens
	answer, err := patient.Do(call)
	if err != nil {
		return fmt.Errorf("listen to supervisor %s: %w", c.PID, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var problem struct{ Detail string }
		_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&problem) // what is no answer of ours says nothing
		return fmt.Errorf("supervisor %s does not tell: %s", c.PID, cmp.Or(problem.Detail, answer.Status))
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); is {
			if err := hear(data); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cmp.Or(lines.Err(), io.EOF)
}

// Do asks for a verb: quiet, resume, drain or stop.
func (c *Client) Do(ctx context.Context, verb string) error {
	return c.do(ctx, http.MethodPost, verb, request{}, nil)
}

// Scale sets how many children a pool keeps.
func (c *Client) Scale(ctx context.Context, pool string, children int) error {
	return c.do(ctx, http.MethodPost, "scale", request{Pool: pool, Children: children}, nil)
}

// Recycle replaces the children of a pool, or of all pools if it is "".
func (c *Client) Recycle(ctx context.Context, pool string) error {
	return c.do(ctx, http.MethodPost, "recycle", request{Pool: pool}, nil)
}

// Transport is how requests go to the supervisor, whatever host they name.
func (c *Client) Transport() http.RoundTripper { return c.http.Transport }

// saidAfter is after how long it is said that there is no answer yet.
const saidAfter = 2 * time.Second

// ask sends a call, and says so if there is no answer for a while.
func (c *Client) ask(call *http.Request) (*http.Response, error) {
	if c.Waits != nil {
		until := c.http.Timeout
		if deadline, bound := call.Context().Deadline(); bound {
			until = min(until, time.Until(deadline).Round(time.Second))
		}
		defer c.after(saidAfter, func() {
			c.Waits(fmt.Sprintf("Supervisor %s has not answered for %v; waiting up to %v. If ps shows its state as T, it is stopped: `kill -CONT %s` lets it go on.", c.PID, saidAfter, until, c.PID))
		})()
	}
	return c.http.Do(call)
}

// unanswered says why there is no answer to what was asked.
func (c *Client) unanswered(asked string, err error) error {
	if late, is := errors.AsType[net.Error](err); is && late.Timeout() {
		return fmt.Errorf("%s: it does not answer. If ps shows its state as T, somebody has stopped it, and `kill -CONT %s` lets it go on; else it stands still, or the host has no time for it: see its log", asked, c.PID)
	}
	return fmt.Errorf("%s: %w", asked, err)
}

func (c *Client) do(ctx context.Context, method, verb string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	call, err := http.NewRequestWithContext(ctx, method, "http://oarlock/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.ask(call)
	if err != nil {
		verb, _, _ = strings.Cut(verb, "?")
		return c.unanswered("ask supervisor "+c.PID+" to "+verb, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		if answer.StatusCode == http.StatusNotFound {
			return &Nothing{strings.TrimSpace(string(text))}
		}
		return errors.New(strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}
