// Package connect opens the Redis that a configuration means, finds the one that a supervisor has of
// its own, and says in words that a user can follow why one cannot be used. It owns no
// connection: clients belong to whoever opened them. It must not know the command line, nor anything that
// runs jobs: of a supervisor it knows what the control socket tells.
package connect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
	"oarlock/queue"
)

// Open prepares a client of the Redis of r, which the caller closes; it does not connect yet.
// logger may be nil. Errors are config.Problems.
func Open(ctx context.Context, r config.Redis, logger *slog.Logger, hears ...Hear) (*queue.Client, error) {
	opts := options(r)
	opts.Logger, opts.OnCall = logger, together(hears)
	client, err := queue.Open(ctx, opts)
	if err != nil {
		return nil, config.Wrong("redis", err)
	}
	return client, nil
}

// Looking is Open for whoever looks at what others do: a client with few connections, which does not wait for long.
func Looking(ctx context.Context, r config.Redis, logger *slog.Logger, hears ...Hear) (*queue.Client, error) {
	opts := options(r)
	opts.OnCall = together(hears)
	opts.Logger, opts.ClientName, opts.PoolSize, opts.ReadTimeout = logger, "oarlock-web", lookingConnections, lookingPatience
	client, err := queue.Open(ctx, opts)
	if err != nil {
		return nil, config.Wrong("redis", err)
	}
	return client, nil
}

// Hear is told of each call of a client, as queue.Options.OnCall.
type Hear = func(command string, took time.Duration, class queue.ErrorClass)

// together is one that tells all of them; nil of none.
func together(hears []Hear) Hear {
	if len(hears) == 0 {
		return nil
	}
	return func(command string, took time.Duration, class queue.ErrorClass) {
		for _, hear := range hears {
			hear(command, took, class)
		}
	}
}

// What a client of Looking has, so that it can take nothing from those who work.
const (
	lookingConnections = 4
	lookingPatience    = 2 * time.Second
)

// hereTimeout is that of a call to the embedded Redis of this process: as long as this process is slow, so is its Redis, and neither is away.
const hereTimeout = time.Hour

// options are what r says of a client.
func options(r config.Redis) queue.Options {
	timeout := time.Duration(0) // the usual one
	if embedded.Here(r.URL) {
		timeout = hereTimeout
	}
	return queue.Options{
		ReadTimeout:  timeout,
		URL:          r.URL,
		Namespace:    r.Namespace,
		PasswordFile: r.PasswordFile,
		TLSCA:        r.TLSCA,
		TLSCert:      r.TLSCert,
		TLSKey:       r.TLSKey,
		WaitReplicas: r.WaitReplicas,
	}
}

// Reach opens the Redis of r, and returns when it has answered. What is wrong with
// r.URL is config.Problems; any other Redis that does not answer an error that says what to do, and
// wraps that of the client. The caller closes the client.
func Reach(ctx context.Context, r config.Redis) (*queue.Client, error) {
	client, err := Open(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		if why := wrongURL(r.URL, err); why != "" {
			return nil, config.Problems{{Key: "redis.url", Why: why}}
		}
		return nil, away{Address(r.URL), place(r.URL), err}
	}
	return client, nil
}

// away is the error of a Redis that a command could not use.
type away struct {
	at    string // its address
	place string // the same without a database
	err   error
}

func (a away) Unwrap() error { return a.err }

// Error says which Redis did not answer, why, and what to do about it.
func (a away) Error() string {
	why := strings.TrimPrefix(a.err.Error(), "connect to "+a.place+": ")
	return fmt.Sprintf("Redis at %s does not answer: %s\n%s", a.at, why, advice(a.err))
}

// Hint is what a user can do where the Redis at url gave err. It may ask what answers there, for three
// seconds at most.
func Hint(url string, err error) string { return cmp.Or(wrongURL(url, err), advice(err)) }

// cutOff is in errors of a connection that was there.
var cutOff = regexp.MustCompile(`EOF|i/o timeout|connection reset|broken pipe`)

// advice is what a user can do about an error of Redis. It is the one place that reads
// the text: the driver leaves nothing else of what the system said.
func advice(err error) string {
	text := err.Error()
	switch class := queue.Class(err); {
	case strings.Contains(text, "no such host"):
		return "Is the name of the host spelled right? It comes from --redis, REDIS_URL or redis.url."
	case strings.Contains(text, "no such file"):
		return "There is no such socket: is Redis running, and does it listen there (unixsocket)?"
	case strings.Contains(text, "permission denied"):
		return "May this user open the socket (unixsocketperm)?"
	case strings.Contains(text, "failed to verify certificate"):
		return "Name the authority that signed its certificate in redis.tls_ca, and the host as the certificate has it."
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		return "Put the password into redis.password_file, or into the URL: redis://user:password@host:6379."
	case strings.Contains(text, "READONLY"):
		return "It is a replica: name the master, or use redis+sentinel://."
	case strings.Contains(text, "MISCONF"):
		return "It cannot save its data, and takes no more until it can: is its disk full?"
	case strings.Contains(text, "NOREPLICAS"):
		return "It has fewer replicas than its min-replicas-to-write asks for."
	case strings.Contains(text, "OOM "):
		return "Raise its maxmemory, or make room: oarlock queue purge QUEUE."
	case class == queue.Busy:
		return "It is busy: a long script runs there, or it has no connection left. Wait, or see what runs with redis-cli SLOWLOG GET and CLIENT LIST; redis-cli SCRIPT KILL ends a script that has written nothing."
	case class == queue.Loading:
		return "It is loading its data, or has no master. Wait until it has."
	case class == queue.Doubt || !strings.Contains(text, "dial ") && cutOff.MatchString(text):
		return "It was reached, and the answer did not come, in time or whole. Is it busy, is the answer very large, or does something cut the connection? See oarlock doctor and redis-cli SLOWLOG GET."
	case strings.Contains(text, "password file"):
		return "Write the password into it, or take redis.password_file out of the configuration."
	case strings.Contains(text, "NOPERM"):
		return "The user of Redis may not run that; queue/ACL.md lists what it needs."
	}
	return "Start Redis, or name another one with --redis URL or REDIS_URL. To try Oarlock without one: oarlock dev"
}

// Address is what a user needs of a URL to know which Redis was meant, and which database if it is not 0; no password.
func Address(text string) string {
	at := place(text)
	db, err := queue.Database(text)
	switch {
	case err != nil || db == 0:
		return at
	case strings.HasPrefix(text, "unix:"):
		return fmt.Sprintf("%s?db=%d", at, db)
	}
	return fmt.Sprintf("%s/%d", at, db)
}

// place is where the Redis of a URL is.
func place(text string) string {
	place, err := queue.Place(text)
	if err != nil || !strings.Contains(text, "://") {
		return "the configured URL"
	}
	return place
}
