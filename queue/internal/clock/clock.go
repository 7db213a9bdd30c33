// Package clock reckons the time of a Redis server on the local clock. It owns the measurements
// and what is believed of them. It asks by a function that it is given, and knows neither Redis
// nor jobs.
package clock

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"sync"
	"time"
)

const (
	// maxAge is how old a measurement may be before the next command takes another.
	maxAge = 30 * time.Second
	// preciseAge is maxAge for calls in which a delay or the end of a lock counts.
	preciseAge = 900 * time.Millisecond
	// settling is how long after a jump other clients may not have noticed it: until then their locks seem to have expired.
	settling = 5 * time.Second
	// maxStep is the largest correction that one measurement makes by itself. A larger
	// one must be confirmed by a second measurement, because much hangs on `now`: a client
	// days ahead prunes every completed job, one a minute ahead takes running ones away.
	maxStep = time.Second
	// The first measurement may begin with a dial, or come in a bad moment, and there is nothing
	// to hold against it; who puts one job after the other by a program each depends on it. It is
	// repeated up to firstLooks times if it may be off by more than firstDoubt.
	firstLooks = 3
	firstDoubt = 200 * time.Microsecond
)

// Clock reckons the Redis server's time on the local clock: an offset, measured by
// TIME when the first command is sent and again when it is older than half a minute.
// All hosts thus agree on `now`, however wrong their own clocks are.
//
// It is safe for concurrent use.
type Clock struct {
	ask func(context.Context) (time.Time, error)
	log *slog.Logger

	mu       sync.Mutex
	base     time.Duration // uptime when server was read
	server   time.Time     // what the server's clock said then; zero before the first measurement
	checking bool          // somebody is measuring
	jumped   bool          // the server's clock has jumped
	jumpedAt time.Duration // uptime when the last jump was confirmed
}

// New returns a clock that has measured nothing yet. ask asks the server for its time; log hears
// of jumps.
func New(ask func(context.Context) (time.Time, error), log *slog.Logger) *Clock {
	return &Clock{ask: ask, log: log}
}

// Now is the server's time in seconds, to the microsecond. Before the first
// measurement it is the local clock's.
func (c *Clock) Now() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return seconds(c.at(uptime()))
}

// Offset is how far the server's clock is ahead of the local wall clock.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(uptime()).Sub(time.Now().Round(0))
}

// at needs mu.
func (c *Clock) at(up time.Duration) time.Time {
	if c.server.IsZero() {
		return time.Now()
	}
	return c.server.Add(up - c.base)
}

// Sync measures now, whatever the age of the last measurement.
func (c *Clock) Sync(ctx context.Context) error {
	c.mu.Lock()
	known := !c.server.IsZero()
	c.mu.Unlock()
	m, err := c.measure(ctx)
	for range firstLooks {
		if known || err != nil || m.doubt <= firstDoubt {
			break
		}
		var better measurement
		if better, err = c.measure(ctx); better.doubt < m.doubt {
			m = better
		}
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	off := c.wrong(m)
	c.mu.Unlock()
	if known && off.Abs() > maxStep {
		if m, err = c.measure(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.wrong(m)
	if known && off.Abs() > maxStep {
		if (again - off).Abs() > maxStep {
			c.log.Warn("clock of redis is erratic; measurement ignored", "first", off, "second", again)
			return nil
		}
		c.log.Warn("clock of redis jumped", "by", again)
		c.jumped, c.jumpedAt = true, m.up
	}
	if known {
		m.server = c.at(m.up).Add(again)
	}
	c.base, c.server = m.up, m.server
	return nil
}

// measurement is what one question for the server's time tells.
type measurement struct {
	up     time.Duration // the middle of the round trip
	server time.Time     // the answer
	doubt  time.Duration // half of the round trip: the answer may be from any moment of it
}

// wrong is how much what we believe must at least be off by, if m is true. A slow answer
// cannot correct what it agrees with as well as it can tell. It needs mu.
func (c *Clock) wrong(m measurement) time.Duration {
	off := m.server.Sub(c.at(m.up))
	switch {
	case off > m.doubt:
		return off - m.doubt
	case off < -m.doubt:
		return off + m.doubt
	}
	return 0
}

// Fresh measures if the last measurement is too old. While one caller measures, the
// others go on with what is known; a failed measurement is an error only if it
// was the first.
func (c *Clock) Fresh(ctx context.Context) error { return c.within(ctx, maxAge) }

// Precise is Fresh for calls in which a delay or the end of a lock counts: it measures once a second at most. So the
// clock follows a jump of the server's within a second where such calls are made.
func (c *Clock) Precise(ctx context.Context) error { return c.within(ctx, preciseAge) }

// Settling reports whether the server's clock jumped a moment ago. Other clients may not have noticed yet: their locks
// may seem to have expired.
func (c *Clock) Settling() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jumped && uptime()-c.jumpedAt < settling
}

func (c *Clock) within(ctx context.Context, age time.Duration) error {
	first, err := c.look(ctx, age)
	if first {
		return err
	}
	return nil
}

// FreshOrSilent is Fresh, and any measurement that the server did not answer in time is an error: whoever would then ask it for
// something else would wait as long again.
func (c *Clock) FreshOrSilent(ctx context.Context) error {
	first, err := c.look(ctx, maxAge)
	var slow net.Error
	if first || errors.As(err, &slow) && slow.Timeout() {
		return err
	}
	return nil
}

// look measures if the last measurement is older than age and nobody else does; first says that there was none.
func (c *Clock) look(ctx context.Context, age time.Duration) (first bool, err error) {
	c.mu.Lock()
	first = c.server.IsZero()
	if !first && (c.checking || uptime()-c.base < age) {
		c.mu.Unlock()
		return false, nil
	}
	c.checking = true
	c.mu.Unlock()

	err = c.Sync(ctx)

	c.mu.Lock()
	c.checking = false
	c.mu.Unlock()
	return first, err
}

// measure reads the server's clock and the uptime that belongs to it.
func (c *Clock) measure(ctx context.Context) (measurement, error) {
	sent := uptime()
	server, err := c.ask(ctx)
	doubt := (uptime() - sent) / 2
	return measurement{up: sent + doubt, server: server, doubt: doubt}, err
}

// seconds is t in seconds since the epoch, to the microsecond.
func seconds(t time.Time) float64 {
	return math.Round(float64(t.UnixNano())/1e3) / 1e6
}
