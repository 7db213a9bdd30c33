package screen

import (
	"io"
	"sync"
)

// Out is an output whose writes nobody need look at: it remembers the first that failed. A terminal below it
// is one still. Safe for concurrent use.
type Out struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// NewOut makes an output that writes to w.
func NewOut(w io.Writer) *Out { return &Out{w: w} }

func (o *Out) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Err is the error of the first write that failed; nil if none did.
func (o *Out) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Under is the writer below an Out, for what must know it; any other is itself.
func Under(w io.Writer) io.Writer {
	if out, is := w.(*Out); is {
		return out.w
	}
	return w
}
