package metrics

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// bodyLasts is how long a page is good enough: however many scrape, it is made once in that time.
	bodyLasts = time.Second
	// mostBodies bounds the forms in which it is kept, each for another combination of headers.
	mostBodies = 8
)

// page is what a scrape gets, made once a second at most.
type page struct {
	make   http.Handler
	making chan struct{} // of size 1: holds a token while it is made

	mu     sync.Mutex // for memory only
	bodies map[[2]string]*body
}

// body is a page in one form.
type body struct {
	at     time.Time
	status int
	header http.Header
	bytes.Buffer
}

// newPage makes a page of what c tells; process adds what the library knows of this process.
func newPage(c prometheus.Collector, process bool) *page {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	if process {
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return &page{
		make:   promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}),
		making: make(chan struct{}, 1),
		bodies: map[[2]string]*body{},
	}
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := p.fresh(r)
	if b == nil {
		select {
		case <-r.Context().Done():
			return
		case p.making <- struct{}{}:
		}
		if b = p.fresh(r); b == nil { // else somebody has made it meanwhile
			b = p.remake(r)
		}
		<-p.making
	}
	for name, values := range b.header {
		w.Header()[name] = values
	}
	w.WriteHeader(b.status)
	_, _ = w.Write(b.Bytes()) // who does not read it has left
}

// form are the headers that the page depends on.
func form(r *http.Request) [2]string {
	return [2]string{r.Header.Get("Accept"), r.Header.Get("Accept-Encoding")}
}

func (p *page) fresh(r *http.Request) *body {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.bodies[form(r)]; b != nil && time.Since(b.at) < bodyLasts {
		return b
	}
	return nil
}

// remake makes the page anew.
func (p *page) remake(r *http.Request) *body {
	b := &body{at: time.Now(), status: http.StatusOK, header: http.Header{}}
	p.make.ServeHTTP(b.writer(), r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bodies) >= mostBodies {
		clear(p.bodies)
	}
	p.bodies[form(r)] = b
	return b
}

func (b *body) writer() http.ResponseWriter { return bodyWriter{b} }

// bodyWriter writes a body as a handler does.
type bodyWriter struct{ b *body }

func (w bodyWriter) Header() http.Header         { return w.b.header }
func (w bodyWriter) WriteHeader(status int)      { w.b.status = status }
func (w bodyWriter) Write(p []byte) (int, error) { return w.b.Write(p) }

// Handler answers a scrape of this process. It asks Redis nothing.
func (m *Metrics) Handler() http.Handler { return m.page }
