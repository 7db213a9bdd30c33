package webbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// house is a supervisor at work, and how it is asked.
type house struct {
	cmd    *exec.Cmd
	gone   chan struct{} // closed when it was reaped
	log    string        // path
	client *http.Client
	asked  int // scrapes, each of which wants a page of its own
}

const (
	// startLimit is how long a supervisor may take until all its pools are ready, and leaveLimit until it has left.
	startLimit = 2 * time.Minute
	leaveLimit = 30 * time.Second
	// askLimit is how long an answer may take.
	askLimit = 30 * time.Second
)

// start starts a supervisor, and returns when its pools are ready.
func (b *Bench) start(ctx context.Context, s Sizes) (*house, error) {
	file, socket := filepath.Join(b.Scratch, "oarlock.toml"), filepath.Join(b.Scratch, "web.sock")
	if err := os.WriteFile(file, []byte(b.configuration(s, socket)), 0o600); err != nil {
		return nil, err
	}
	h := &house{gone: make(chan struct{}), log: filepath.Join(b.Scratch, "run.log")}
	out, err := os.Create(h.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	h.cmd = exec.CommandContext(ctx, b.Self[0], append(b.Self[1:], "run", "-c", file)...)
	h.cmd.Stdout, h.cmd.Stderr = out, out
	h.cmd.Cancel = func() error { return h.cmd.Process.Signal(syscall.SIGTERM) }
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C at the terminal is for us, who end it
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = h.cmd.Wait() // how it ended is in its log
		close(h.gone)
	}()
	h.client = &http.Client{Timeout: askLimit, Transport: transport(socket, s.Abreast)}
	if err := h.ready(ctx, s.Pools); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// transport asks at a Unix socket.
func transport(socket string, keep int) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableCompression: true, MaxIdleConnsPerHost: keep,
	}
}

// configuration is what the supervisor is told. Who may open the directory may ask it.
func (b *Bench) configuration(s Sizes, socket string) string {
	command := make([]string, len(b.Command))
	for i, word := range b.Command {
		command[i] = strconv.Quote(word)
	}
	text := fmt.Sprintf("[redis]\nurl = %q\nnamespace = %q\n", b.URL, b.Namespace) +
		fmt.Sprintf("[supervisor]\nstate_dir = %q\ndrain_timeout = \"1s\"\n[log]\nattempts = \"bad\"\n", filepath.Join(b.Scratch, "state")) +
		fmt.Sprintf("[web]\nlisten = %q\nauth = \"none\"\n", "unix:"+socket)
	text += longConfig()
	for i := range s.Pools {
		queue, more := poolName(i), ""
		if i == 0 {
			queue, more = busyQueue, "prefetch = 16\n"
		}
		text += fmt.Sprintf("[pools.%s]\nqueues = [%q]\nmode = \"reuse\"\nchildren = %d\ncommand = [%s]\n%s", poolName(i), queue, s.Children, strings.Join(command, ", "), more)
	}
	return text
}

// poolName is the name of a pool; the first is the one that works.
func poolName(i int) string {
	if i == 0 {
		return "busy"
	}
	return fmt.Sprintf("idle-%02d", i)
}

// ready waits until each pool has a child that is.
func (h *house) ready(ctx context.Context, pools int) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waited := 0; waited < pools; {
		if _, err := h.get(ctx, "/readyz?pool="+poolName(waited), nil); err == nil {
			waited++
			continue
		}
		select {
		case <-tick.C:
		case <-h.gone:
			return fmt.Errorf("the supervisor has left: %s", h.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("the supervisor does not become ready: %s", h.lastWords())
		}
	}
	return nil
}

// lastWords is the end of its log.
func (h *house) lastWords() string {
	text, err := os.ReadFile(h.log)
	if err != nil {
		return err.Error()
	}
	const most = 1000
	return string(text[max(len(text)-most, 0):])
}

// stop ends the supervisor and waits until it has left.
func (h *house) stop() error {
	h.client.CloseIdleConnections()
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-h.gone:
		return nil
	case <-time.After(leaveLimit):
		_ = h.cmd.Process.Kill()
		<-h.gone
		return fmt.Errorf("the supervisor did not leave: %s", h.lastWords())
	}
}

// get asks for a path and reads the answer, whose status is to be 200.
func (h *house) get(ctx context.Context, path string, header http.Header) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", path, answer.Status, text)
	}
	return text, err
}

// Scrape is what a scrape takes.
type Scrape struct {
	Spread
	Samples int `json:"samples"`
	Bytes   int `json:"bytes"`
}

// scrapePause is how long the numbers are good enough for another scrape; see docs/metrics.md.
const scrapePause = 1050 * time.Millisecond

// scrapes measures so many scrapes, each of which has the page made anew.
func (h *house) scrapes(ctx context.Context, path string, n int) (s Scrape, err error) {
	var all []time.Duration
	for range n {
		select {
		case <-time.After(scrapePause):
		case <-ctx.Done():
			return s, ctx.Err()
		}
		began := time.Now()
		text, err := h.get(ctx, path, nil)
		if err != nil {
			return s, err
		}
		all = append(all, time.Since(began))
		s.Bytes, s.Samples = len(text), samples(text)
	}
	s.Spread = spread(all)
	return s, nil
}

// samples is how many there are in a scrape.
func samples(text []byte) (n int) {
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// metrics reads some samples of the process as they are now, by what stands before their value.
func (h *house) metrics(ctx context.Context, names ...string) (map[string]float64, error) {
	h.asked++ // in a form that nobody has asked for, so that it is made now
	text, err := h.get(ctx, "/metrics", http.Header{"Accept": {fmt.Sprintf("text/plain;n=%d", h.asked)}})
	if err != nil {
		return nil, err
	}
	found := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		for _, name := range names {
			if at < 0 || lines.Text()[:at] != name {
				continue
			}
			if found[name], err = strconv.ParseFloat(lines.Text()[at+1:], 64); err != nil {
				return nil, err
			}
		}
	}
	return found, lines.Err()
}
