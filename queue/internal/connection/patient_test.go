package connection

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeLimitsGrowWithBytes carries calls of some sizes over a line that takes so many bytes a second, in virtual time: what flows may take as
// long as it needs, what stands fails after the timeout, and a shorter deadline, which is that of a context, does not move.
func TestTimeLimitsGrowWithBytes(t *testing.T) {
	const timeout, mib = 3 * time.Second, 1 << 20
	for _, tt := range []struct {
		name     string
		bytes    int
		rate     int // bytes per second
		stall    int // after how many bytes nothing comes any more; 0: all comes
		deadline time.Duration
		fails    time.Duration // 0: it does not
	}{
		{"small", 100, mib, 0, timeout, 0},
		{"large and fast", 16 * mib, 64 * mib, 0, timeout, 0},
		{"large and slow", 16 * mib, mib, 0, timeout, 0},
		{"below the slowest rate", 16 * mib, slowest / 2, 0, timeout, 6 * time.Second},
		{"stalled at once", 16 * mib, mib, portion / 2, timeout, 3 * time.Second},
		{"stalled in the middle", 16 * mib, mib, 8 * mib, timeout, 11 * time.Second},
		{"by the context", 16 * mib, mib, 0, time.Second, time.Second},
	} {
		for _, reads := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					near, far := net.Pipe()
					conn := patient(near, timeout, &epoch{})
					began, over := time.Now(), make(chan struct{})
					defer func() { near.Close(); <-over }()
					go func() {
						defer close(over)
						piece, done := make([]byte, 16<<10), 0
						for done < tt.bytes && (tt.stall == 0 || done < tt.stall) {
							piece = piece[:min(len(piece), tt.bytes-done)]
							time.Sleep(time.Duration(len(piece)) * time.Second / time.Duration(tt.rate))
							var err error
							if reads {
								_, err = far.Write(piece)
							} else {
								_, err = io.ReadFull(far, piece)
							}
							if err != nil {
								return
							}
							done += len(piece)
						}
					}()
					var err error
					if reads {
						conn.SetReadDeadline(began.Add(tt.deadline))
						_, err = io.ReadFull(conn, make([]byte, tt.bytes))
					} else {
						conn.SetWriteDeadline(began.Add(tt.deadline))
						_, err = conn.Write(make([]byte, tt.bytes))
					}
					took := time.Since(began)
					if tt.fails == 0 && err != nil {
						t.Errorf("after %v: %v", took, err)
					}
					if tt.fails > 0 && (!errors.Is(err, os.ErrDeadlineExceeded) || (took-tt.fails).Abs() > time.Second/2) {
						t.Errorf("after %v: %v; want a timeout after %v", took, err, tt.fails)
					}
				})
			})
		}
	}
}

// TestALargeCallIsReceivedFirst waits longer for the answer to a large call: a part of it may still be on its way.
func TestALargeCallIsReceivedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		over := make(chan struct{})
		defer func() { near.Close(); <-over }()
		go func() { io.Copy(io.Discard, far); close(over) }()
		conn := patient(near, 3*time.Second, &epoch{})
		for _, tt := range []struct {
			bytes int
			want  time.Duration
		}{{100, 3 * time.Second}, {1 << 20, 7 * time.Second}, {64 << 20, 19 * time.Second}} {
			conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
			if _, err := conn.Write(make([]byte, tt.bytes)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			conn.SetReadDeadline(began.Add(3 * time.Second))
			_, err := conn.Read(make([]byte, 1))
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != tt.want {
				t.Errorf("the answer to %d bytes is waited for for %v (%v), want %v", tt.bytes, took, err, tt.want)
			}
		}
	})
}

// TestASubscriptionReadsWhileItWrites is for the race detector: one goroutine of a subscription asks for channels while another reads.
func TestASubscriptionReadsWhileItWrites(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	conn := patient(near, time.Minute, &epoch{})
	go io.Copy(far, far) // until near is closed
	var writer sync.WaitGroup
	writer.Go(func() {
		for range 100 {
			conn.SetWriteDeadline(time.Now().Add(time.Minute))
			conn.Write([]byte("x"))
		}
	})
	for range 100 {
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	writer.Wait()
	near.Close()
}
