package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// target is what a URL and the other Options come to: how the driver reaches Redis.
type target struct {
	redis.UniversalOptions
}

// parseURL reads the forms that Options.URL lists.
func parseURL(o Options) (*target, error) {
	scheme, _, found := strings.Cut(o.URL, "://")
	if !found {
		return nil, fmt.Errorf("redis url %q: want redis://host:port, rediss://, unix:///path, redis+sentinel:// or redis+cluster://", o.URL)
	}
	t := &target{}
	var err error
	switch scheme {
	case "redis", "rediss", "unix":
		err = t.single(o.URL)
	case "redis+sentinel", "rediss+sentinel":
		err = t.sentinel(o.URL)
	case "redis+cluster", "rediss+cluster":
		err = t.clustered(o.URL, o.Namespace)
	default:
		err = fmt.Errorf("unknown scheme %q: want redis, rediss, unix, redis+sentinel or redis+cluster", scheme)
	}
	if err == nil {
		err = t.secure(o, strings.HasPrefix(scheme, "rediss"))
	}
	if err != nil {
		return nil, fmt.Errorf("redis url %s: %w", redactURL(o.URL), err)
	}
	t.tune(o)
	return t, nil
}

// redactURL hides the password of a URL for messages.
func redactURL(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	// Not a URL by the book: cut all that could be a secret.
	scheme, rest, _ := strings.Cut(text, "://")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		rest = "…" + rest[i:]
	}
	return scheme + "://" + rest
}

func (t *target) single(text string) error {
	o, err := redis.ParseURL(text)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "redis: "))
	}
	t.Addrs = []string{o.Addr}
	t.DB, t.Username, t.Password, t.TLSConfig = o.DB, o.Username, o.Password, o.TLSConfig
	return nil
}

func (t *target) sentinel(text string) error {
	hosts, path, err := t.hosts(text, "26379")
	if err != nil {
		return err
	}
	master, db, _ := strings.Cut(path, "/")
	if master == "" {
		return errors.New("name the master: redis+sentinel://host:port/MASTER")
	}
	if db != "" {
		if t.DB, err = strconv.Atoi(db); err != nil {
			return fmt.Errorf("database %q is not a number", db)
		}
	}
	t.Addrs, t.MasterName = hosts, master
	return nil
}

func (t *target) clustered(text, namespace string) error {
	if HashTag(namespace) == "" {
		return fmt.Errorf("namespace %q has no hash tag, such as {ql}: has, and a cluster keeps keys together by that", namespace)
	}
	hosts, path, err := t.hosts(text, "6379")
	if err != nil {
		return err
	}
	if path != "" && path != "0" {
		return fmt.Errorf("a cluster has no database %q", path)
	}
	t.Addrs, t.IsClusterMode = hosts, true
	return nil
}

// HashTag is the part of a namespace by which Redis Cluster chooses a slot, "" if it
// has none and its keys would be scattered.
func HashTag(namespace string) string {
	_, rest, found := strings.Cut(namespace, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return ""
	}
	return tag
}

// hosts splits scheme://[user:password@]host[:port][,host[:port]…][/path], which
// net/url does not know for more than one host.
func (t *target) hosts(text, port string) (hosts []string, path string, err error) {
	_, rest, _ := strings.Cut(text, "://")
	rest, path, _ = strings.Cut(rest, "/")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, err := url.Parse("x://" + rest[:i+1] + "h")
		if err != nil {
			return nil, "", errors.New("the user or password is not URL-encoded")
		}
		t.Username = user.User.Username()
		t.Password, _ = user.User.Password()
		rest = rest[i+1:]
	}
	for host := range strings.SplitSeq(rest, ",") {
		if host == "" {
			return nil, "", errors.New("name at least one host")
		}
		if !strings.Contains(host, ":") {
			host += ":" + port
		}
		hosts = append(hosts, host)
	}
	return hosts, strings.TrimSuffix(path, "/"), nil
}

func (t *target) secure(o Options, always bool) error {
	if !always && o.TLSCA == "" && o.TLSCert == "" {
		return nil
	}
	if t.TLSConfig == nil {
		t.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.TLSCA != "" {
		pem, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return err
		}
		t.TLSConfig.RootCAs = x509.NewCertPool()
		if !t.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no PEM certificate", o.TLSCA)
		}
	}
	if o.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return err
		}
		t.TLSConfig.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// tune sets what does not depend on the URL.
func (t *target) tune(o Options) {
	t.ClientName = o.ClientName
	t.Dialer = dialer(o, t.TLSConfig)
	t.PoolSize = o.PoolSize
	t.PipelinePoolSize = 1
	t.ReadTimeout, t.WriteTimeout = o.ReadTimeout, o.ReadTimeout
	t.DialTimeout = o.ReadTimeout
	t.PoolTimeout = o.ReadTimeout
	// A repeated pop loses jobs, silently; whoever calls decides what may be repeated.
	t.MaxRetries, t.DialerRetries = -1, 1
	t.ContextTimeoutEnabled = true
	t.DisableIdentity = true
	t.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.PasswordFile != "" {
		t.CredentialsProviderContext = func(context.Context) (string, string, error) {
			password, err := os.ReadFile(o.PasswordFile)
			return t.Username, strings.TrimRight(string(password), " \t\r\n"), err
		}
	}
}

func (t *target) universal() redis.UniversalClient {
	return redis.NewUniversalClient(&t.UniversalOptions)
}

// callBuffer is how much of a call and of its reply a dedicated connection keeps in each
// direction: a supervisor has one for each pool, and most exchange a few jobs at a time.
const callBuffer = 8 << 10

// dedicated returns a client that keeps at most one connection, and calls onConnect
// for each one it makes, before anything else is sent over it.
func (t *target) dedicated(onConnect func(context.Context, *redis.Conn) error) redis.UniversalClient {
	o := t.UniversalOptions
	o.PoolSize, o.MaxActiveConns = 1, 1
	o.ConnMaxIdleTime = -1 * time.Nanosecond // keep it however long the queues are empty
	o.ReadBufferSize, o.WriteBufferSize = callBuffer, callBuffer
	o.OnConnect = onConnect
	return redis.NewUniversalClient(&o)
}
