// Package connection is how a Redis is reached: by which address and credentials, over which
// connections, and what is done when one of them breaks. It owns the connections, those that can
// be fenced, and the subscriptions. It knows no keys and no jobs, and judges no errors.
package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where Redis is and how to reach it. The fields are those of queue.Options, whose
// comments tell what they mean; there are no defaults here.
type Config struct {
	URL, Namespace         string
	PasswordFile           string
	TLSCA, TLSCert, TLSKey string
	ClientName             string
	ReadTimeout            time.Duration
	PoolSize               int
	Dialer                 func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Target is what a Config comes to: how the driver reaches Redis.
type Target struct {
	redis.UniversalOptions
}

// Parse reads the forms that a URL may have, and the files that are named. It connects to nothing.
func Parse(o Config) (*Target, error) {
	scheme, _, found := strings.Cut(o.URL, "://")
	if !found {
		return nil, errors.New("redis url: want redis://host:port, rediss://, unix:///path, redis+sentinel:// or redis+cluster://")
	}
	place, err := Place(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w", err)
	}
	t := &Target{}
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
		return nil, fmt.Errorf("redis url %s://%s: %w", scheme, place, err)
	}
	t.tune(o)
	return t, nil
}

// Place is what of a URL may be shown to anybody: the hosts with their ports, or the path of a
// socket, and nothing that could be of a user, a password or an option. The error says why
// that cannot be told apart; nothing of the text is in it, nor in any other error of Parse.
func Place(text string) (string, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts, path := rest[:end], rest[end:]
	if i := strings.LastIndex(hosts, "@"); i >= 0 {
		hosts = hosts[i+1:]
	} else if hosts != "" && strings.Contains(path, "@") {
		return "", errNotEncoded
	}
	if scheme == "unix" {
		path, _, _ = strings.Cut(path, "?")
		return path, nil
	}
	return hosts, nil
}

var errNotEncoded = errors.New("it cannot be read; in a user or a password, / ? # @ % and the like are written as %2F %3F %23 %40 %25")

// credential is in the names of options by which people try to give a password.
var credential = regexp.MustCompile(`(?i)pass|pwd|auth|secret|token|user`)

func (t *Target) single(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errNotEncoded // its own text would show a part of the password
	}
	options := slices.Sorted(maps.Keys(u.Query()))
	db := strings.Trim(u.Path, "/")
	switch {
	case slices.ContainsFunc(options, credential.MatchString):
		return errors.New("a user and a password are no options: write redis://user:password@host, or use a password file")
	case u.Scheme != "unix" && strings.Trim(db, "0123456789") != "":
		return errors.New("the database, which stands behind the host, is no number")
	}
	o, err := redis.ParseURL(text)
	if err != nil && len(options) > 0 {
		return fmt.Errorf("of its options (%s) one is not known or has a value that cannot be read", strings.Join(options, ", "))
	}
	if err != nil {
		return errNotEncoded
	}
	t.Addrs = []string{o.Addr}
	t.DB, t.Username, t.Password, t.TLSConfig = o.DB, o.Username, o.Password, o.TLSConfig
	return nil
}

func (t *Target) sentinel(text string) error {
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

func (t *Target) clustered(text, namespace string) error {
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
func (t *Target) hosts(text, port string) (hosts []string, path string, err error) {
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

func (t *Target) secure(o Config, always bool) error {
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

// buffer is what a connection has for each direction, as much as a call for some forty jobs is long. Each pool has a connection; a longer
// call costs it a system call more.
const buffer = 16 << 10

// tune sets what does not depend on the URL.
func (t *Target) tune(o Config) {
	t.ClientName = o.ClientName
	t.Dialer = dialer(o, t.TLSConfig)
	t.PoolSize = o.PoolSize
	t.PipelinePoolSize = 1
	t.ReadBufferSize, t.WriteBufferSize = buffer, buffer
	t.PipelineReadBufferSize, t.PipelineWriteBufferSize = buffer, buffer
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

// Shared returns a client of several connections, for whoever needs one just now. The caller
// closes it.
func (t *Target) Shared() redis.UniversalClient {
	return redis.NewUniversalClient(&t.UniversalOptions)
}
