package service

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/config"
)

// A signal ends the wait for a configuration that does not answer, after leavePatience, and a second one ends it at once. Where the
// configuration is read by then, the signal is still there.
func TestASignalEndsTheWaitForTheConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers time.Duration // when it is read
		stops   []time.Duration
		takes   time.Duration
		err     error
		left    int // signals that are to be obeyed
	}{
		{"it answers", time.Second, nil, time.Second, nil, 0},
		{"it answers after a signal", 3 * time.Second, []time.Duration{time.Second}, 3 * time.Second, nil, 1},
		{"it does not answer", time.Hour, []time.Duration{time.Second}, time.Second + leavePatience, ErrUnread, 0},
		{"it is told twice", time.Hour, []time.Duration{time.Second, 2 * time.Second}, 2 * time.Second, ErrUnread, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Signals{stops: make(chan os.Signal, 1)}
				for _, at := range tt.stops {
					time.AfterFunc(at, func() { s.stops <- syscall.SIGTERM })
				}
				began := time.Now()
				_, err := s.Await(func() (config.Config, error) {
					time.Sleep(tt.answers)
					return config.Config{}, nil
				})
				if took := time.Since(began); took != tt.takes || !errors.Is(err, tt.err) || len(s.stops) != tt.left {
					t.Errorf("it took %v, want %v: %v; %d signals are left, want %d", took, tt.takes, err, len(s.stops), tt.left)
				}
				time.Sleep(tt.answers) // until the reader has ended
			})
		})
	}
}
