// Package connection is how a Redis is reached: by which address and credentials, over which
// connections, and what is done when one of them breaks. It owns the connections, those that can
// be fenced, and the subscriptions. It knows no keys and no jobs, and judges no errors.
package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"oarlock/internal/redisurl"
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
	// Leaves reports whether the answer to a command says that its server is not the one to be asked (any more).
	Leaves func(error) bool
}

// Target is what a Config comes to: how the driver reaches Redis.
type Target struct {
	redis.UniversalOptions
	epoch  *epoch
	leaves func(error) bool
}

// Parse reads the forms that a URL may have, and the files that are named. It connects to nothing.
func Parse(o Config) (*Target, error) {
	at, err := redisurl.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w", err)
	}
	if at.Cluster && redisurl.HashTag(o.Namespace) == "" {
		return nil, fmt.Errorf("redis url: namespace %q has no hash tag, such as {ql}: has, and a cluster keeps keys together by that", o.Namespace)
	}
	t := &Target{epoch: &epoch{}, leaves: o.Leaves}
	t.Addrs, t.MasterName, t.IsClusterMode, t.DB = at.Hosts, at.Master, at.Cluster, at.DB
	t.Username, t.Password = at.Username, at.Password
	if err := t.secure(o, at); err != nil {
		place, _ := redisurl.Place(o.URL)
		return nil, fmt.Errorf("redis url %s: %w", place, err)
	}
	t.tune(o)
	return t, nil
}

func (t *Target) secure(o Config, at redisurl.Address) error {
	if !at.TLS && o.TLSCA == "" && o.TLSCert == "" {
		return nil
	}
	t.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: at.SkipVerify}
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
	t.Dialer = dialer(o, t.TLSConfig, t.epoch)
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
			text, err := os.ReadFile(o.PasswordFile)
			password := strings.TrimRight(string(text), " \t\r\n")
			if err == nil && password == "" {
				err = fmt.Errorf("the password file %s is empty", o.PasswordFile)
			}
			return t.Username, password, err
		}
	}
}

// Shared returns a client of several connections, for whoever needs one just now. The caller
// closes it.
func (t *Target) Shared() redis.UniversalClient {
	return t.watched(redis.NewUniversalClient(&t.UniversalOptions))
}
