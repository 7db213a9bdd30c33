package queue

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redisurl"
	"oarlock/queue/internal/clock"
	"oarlock/queue/internal/connection"
	"oarlock/queue/internal/script"
)

// Options say where Redis is and how to reach it.
type Options struct {
	// URL is one of
	//
	//	redis://[user:password@]host[:port][/db]
	//	rediss://…                               the same over TLS
	//	unix:///path/to/socket[?db=n]
	//	redis+sentinel://[user:password@]host[:port][,host[:port]…]/master[/db]
	//	redis+cluster://[user:password@]host[:port][,host[:port]…]
	//
	// A cluster needs a Namespace with a hash tag; see Open.
	URL string

	// Namespace begins every key and channel; "" means DefaultNamespace.
	Namespace string

	// PasswordFile, if named, is read at every new connection, so that a changed
	// password is picked up without a restart. White space at its end is cut off.
	PasswordFile string

	// TLSCA, TLSCert and TLSKey are PEM files: the authority to trust instead of the
	// system's, and our own certificate. They ask for TLS even with redis://.
	TLSCA, TLSCert, TLSKey string

	// ClientName is shown by CLIENT LIST; "" means "oarlock".
	ClientName string

	// Logger hears what has no caller to return to; nil discards it.
	Logger *slog.Logger

	// ReadTimeout is how long one reply may take; 0 means DefaultReadTimeout. It is
	// also how long a call may outlive the end of its context.
	ReadTimeout time.Duration

	// PoolSize is the number of connections kept for single commands; 0 means 8.
	// Sessions and subscriptions have connections of their own beside them.
	PoolSize int

	// Dialer replaces the network, as tests in virtual time need it; nil means net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// OnCall, if not nil, is told of every command that was sent, by its name (exchange, renew, outlook, time, …):
	// how long its answer took, with the load of its script where that was needed, and what came of it. It is
	// called from whatever goroutine made the call, by many at once, and must not block.
	OnCall func(command string, took time.Duration, class ErrorClass)

	// BeforePut, if not nil, is called for each job that Put and PutAll are given, before anything is sent of it, with a copy that
	// it may change, but for what its slices hold. The error refuses the job, and is that of its result; the others are put all the same. It is called from
	// whatever goroutine puts, by many at once. Jobs that children put, and those of lists, are not among them.
	BeforePut func(context.Context, *Put) error

	// WaitReplicas, if positive, makes every Exchange that settled something, and every put,
	// wait until so many replicas have it, for at most a second. Fewer are logged after an
	// Exchange, and a *ReplicaError after a put: what was written stays written.
	WaitReplicas int
}

// DefaultReadTimeout bounds the wait for one reply; see Options.ReadTimeout.
const DefaultReadTimeout = 3 * time.Second

// Client speaks the qless protocol, and batch commands of our own, with one Redis.
// It is safe for concurrent use.
//
// Every command sends a `now` taken from the server's clock (see Clock), and none is
// repeated by itself unless its comment says so: an error that satisfies ErrAway
// proves that nothing ran, one that satisfies ErrDoubt says that nobody knows.
type Client struct {
	opts    Options
	ns      string
	target  *connection.Target
	redis   redis.UniversalClient
	log     *slog.Logger
	clock   *clock.Clock
	scripts *script.Set
	cluster bool

	reach connection.Reach
	heard *connection.Subscription // by all that listen to something

	plainReads atomic.Bool  // EVALSHA_RO is not to be had; see read
	beside     editions     // which rules there are, as far as they say nothing of new jobs
	awaited    atomic.Int32 // lists that are waited for over connections of their own

	mu       sync.Mutex
	sessions map[*Session]struct{} // so that Close can end their connections
}

// Open prepares a client. It does not connect: the first command does, and Ping
// tells whether Redis is there.
//
// The error is about the options: a URL that cannot be understood, a file that
// cannot be read, a cluster with a namespace that has no hash tag.
func Open(ctx context.Context, o Options) (*Client, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.ClientName == "" {
		o.ClientName = "oarlock"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.PoolSize == 0 {
		o.PoolSize = 8
	}
	target, err := connection.Parse(connection.Config{
		URL: o.URL, Namespace: o.Namespace, PasswordFile: o.PasswordFile, TLSCA: o.TLSCA, TLSCert: o.TLSCert, TLSKey: o.TLSKey,
		ClientName: o.ClientName, ReadTimeout: o.ReadTimeout, PoolSize: o.PoolSize, Dialer: o.Dialer, Leaves: leaves,
	})
	if err != nil {
		return nil, err
	}
	connection.SilenceDriver(o.Logger)
	c := &Client{
		opts:     o,
		ns:       o.Namespace,
		target:   target,
		redis:    target.Shared(),
		log:      o.Logger,
		cluster:  target.IsClusterMode,
		sessions: make(map[*Session]struct{}),
	}
	c.clock = clock.New(c.serverTime, o.Logger)
	c.scripts = script.NewSet(c.ns)
	c.heard = target.Subscription(c.redis, &c.reach, c.log)
	return c, nil
}

// Place is what of a URL may be shown to anybody: the hosts with their ports, or the path of a
// socket, and nothing that could be of a user, a password or an option. The error says why
// that cannot be told apart; nothing of the text is in it, nor in any other error of Open.
func Place(url string) (string, error) { return redisurl.Place(url) }

// Database is the database that a URL names; 0 if it names none.
func Database(url string) (int, error) {
	at, err := redisurl.Parse(url)
	return at.DB, err
}

// HashTag is the part of a namespace by which Redis Cluster chooses a slot, "" if it
// has none and its keys would be scattered.
func HashTag(namespace string) string { return redisurl.HashTag(namespace) }

// Database is the number of the database. Channels of Redis know none: who hears a message of another passes it over.
func (c *Client) Database() int { return c.target.DB }

// Ping asks Redis for a sign of life and measures the clock anew.
func (c *Client) Ping(ctx context.Context) error {
	return c.clock.Sync(ctx)
}

// Writable asks by a write that changes nothing whether Redis takes writes: what cannot be written
// to may answer all else. The Class of the error is ReadOnly of a replica, Disk where it cannot
// save or has too few replicas, Memory where it has none left, or that of one that is away. A user
// who may not ask is told nothing.
func (c *Client) Writable(ctx context.Context) error {
	err := harmless(classify("write", c.redis.ZAddXX(ctx, c.ns+"oarlock:nothing", redis.Z{Member: "nothing"}).Err()))
	if class := Class(err); class == Denied || class == Refused {
		return nil
	}
	return err
}

// Serves asks by reading a key whether Redis does its work: one that loads its data, or runs a long
// script, answers a Ping all the same.
func (c *Client) Serves(ctx context.Context) error {
	return harmless(classify("exists", c.redis.Exists(ctx, c.ns+"config").Err()))
}

// Namespace is the prefix of all keys and channels.
func (c *Client) Namespace() string { return c.ns }

// Connections is how many connections for single commands are in use, and how many wait for one. Those of
// sessions and subscriptions are not among them. It asks nobody.
func (c *Client) Connections() (used, idle int) {
	s := c.redis.PoolStats()
	return max(int(s.TotalConns)-int(s.IdleConns), 0), int(s.IdleConns)
}

// Redis gives access to the driver underneath, for diagnosis. Its errors are not
// classified, and its keys need the namespace.
func (c *Client) Redis() redis.UniversalClient { return c.redis }

// Now is the server's time in seconds since the epoch, to the microsecond, reckoned
// on the local clock since the last measurement. It never talks to Redis.
func (c *Client) Now() float64 { return c.clock.Now() }

// Clock reckons the Redis server's time on the local clock: an offset, measured by TIME when the
// first command is sent and again when it is older than half a minute. All hosts thus agree on
// now, however wrong their own clocks are. It is safe for concurrent use.
type Clock = clock.Clock

// Clock is what Now reads.
func (c *Client) Clock() *Clock { return c.clock }

// serverTime asks Redis for its time.
func (c *Client) serverTime(ctx context.Context) (time.Time, error) {
	began := time.Now()
	t, err := c.redis.Time(ctx).Result()
	err = harmless(classify(clockCommand, err))
	c.noteReach(err)
	c.told(clockCommand, began, err)
	return t, err
}

// told tells the observer of a command that was sent then, and answered just now.
func (c *Client) told(command string, began time.Time, err error) {
	if c.opts.OnCall != nil {
		c.opts.OnCall(command, time.Since(began), Class(err))
	}
}

// noteReach keeps track of whether Redis can be reached, by how each command ends.
func (c *Client) noteReach(err error) {
	switch {
	case err == nil:
		c.reach.Found()
	case errors.Is(err, ErrAway), errors.Is(err, ErrDoubt):
		c.reach.Lost()
	}
}

// Close ends all connections, those of sessions too. Calls under way fail.
func (c *Client) Close() error {
	c.mu.Lock()
	sessions := make([]*Session, 0, len(c.sessions))
	for s := range c.sessions {
		sessions = append(sessions, s)
	}
	c.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	return c.redis.Close()
}
