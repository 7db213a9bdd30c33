// Package redisurl reads the URL of a Redis. The configuration checks a URL with it and the queue
// connects with it, so that both accept the same URLs. It connects to nothing.
package redisurl

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schemes are the schemes a URL may have.
var Schemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// Address is what a URL says.
type Address struct {
	Hosts      []string // host:port each, or the path of a socket
	Master     string   // the name Sentinel knows the master by
	DB         int
	Username   string
	Password   string
	TLS        bool
	SkipVerify bool // TLS without verifying the server's certificate
	Cluster    bool
}

// Parse reads a URL. Its errors repeat nothing of the text that could be a secret.
func Parse(text string) (Address, error) {
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		return Address{}, errors.New("want redis://host:port, rediss://, unix:///path, redis+sentinel:// or redis+cluster://")
	}
	if !slices.Contains(Schemes, scheme) {
		return Address{}, fmt.Errorf("begins with none of %s://: unknown scheme %q", strings.Join(Schemes, "://, "), scheme)
	}
	if _, err := Place(text); err != nil {
		return Address{}, err
	}
	a := Address{TLS: strings.HasPrefix(scheme, "rediss")}
	_, kind, _ := strings.Cut(scheme, "+")
	rest, err := a.credentials(strings.TrimPrefix(text, scheme+"://"))
	if err != nil {
		return Address{}, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(rest+query, "#") {
		return Address{}, errNotEncoded
	}
	if scheme == "unix" {
		err = a.socket(rest)
	} else {
		err = a.hosts(rest, kind)
	}
	if err == nil {
		err = a.options(query, kind)
	}
	if err != nil {
		return Address{}, err
	}
	return a, nil
}

// Place is the part of a URL that may be shown to anybody: the hosts with their ports, or the
// path of a socket. It fails where a secret cannot be told from the rest.
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

// credentials takes user and password off the front of what follows the scheme.
func (a *Address) credentials(rest string) (string, error) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	i := strings.LastIndex(rest[:end], "@")
	if i < 0 {
		return rest, nil
	}
	u, err := url.Parse("x://" + rest[:i+1] + "h")
	if err != nil {
		return "", errNotEncoded // its own text would show a part of the password
	}
	a.Username = u.User.Username()
	a.Password, _ = u.User.Password()
	return rest[i+1:], nil
}

func (a *Address) socket(path string) error {
	path, err := url.PathUnescape(path)
	switch {
	case err != nil:
		return errNotEncoded
	case !strings.HasPrefix(path, "/"):
		return errors.New("the path of a socket begins with /: unix:///run/redis/redis.sock")
	case strings.Trim(path, "/ ") == "":
		return errors.New("it names no socket: unix:///run/redis/redis.sock")
	}
	a.Hosts = []string{path}
	return nil
}

// hosts reads host[:port][,host[:port]…][/path].
func (a *Address) hosts(rest, kind string) error {
	list, path, _ := strings.Cut(rest, "/")
	port := "6379"
	if kind == "sentinel" {
		port = "26379"
	}
	for text := range strings.SplitSeq(list, ",") {
		host, err := hostPort(text, port)
		if err != nil {
			return err
		}
		a.Hosts = append(a.Hosts, host)
	}
	db := strings.Trim(path, "/")
	switch kind {
	case "sentinel":
		a.Master, db, _ = strings.Cut(db, "/")
		if a.Master == "" {
			return errors.New("name the master: redis+sentinel://host:port/MASTER")
		}
		if db != "" && a.database(db) != nil {
			return fmt.Errorf("database %q is not a number", db)
		}
	case "cluster":
		a.Cluster = true
		if db != "" && db != "0" {
			return fmt.Errorf("a cluster has no database %q", db)
		}
	default:
		if len(a.Hosts) > 1 {
			return errors.New("several hosts are for redis+sentinel:// and redis+cluster:// only")
		}
	}
	if db != "" {
		return a.database(db)
	}
	return nil
}

// database reads the number of a database.
func (a *Address) database(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("the database is not a number, as in redis://host:6379/0")
	}
	a.DB = int(n)
	return nil
}

// hostPort reads host, host:port, [IPv6] or [IPv6]:port.
func hostPort(text, port string) (string, error) {
	if text == "" {
		return "", errors.New("it names no host; write redis://HOST:PORT")
	}
	host := strings.Trim(text, "[]")
	if bracket := strings.LastIndex(text, "]"); strings.Contains(text[bracket+1:], ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", errors.New("a host cannot be read: write host:port, or [address]:port for IPv6")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("a port is a number from 1 to 65535")
	}
	if host == "" {
		return "", errors.New("it names no host; write redis://HOST:PORT")
	}
	return net.JoinHostPort(host, port), nil
}

// credential is in the names of options by which people try to give a password.
var credential = regexp.MustCompile(`(?i)pass|pwd|auth|secret|token|user`)

// ignored are the options of other clients, with which a URL may be shared. They must be well
// formed; Oarlock sets what they say by itself.
var ignored = map[string]func(string) bool{
	"client_name": func(string) bool { return true },
	"pool_fifo":   truth, "protocol": number, "max_retries": number, "pool_size": number, "max_concurrent_dials": number,
	"min_idle_conns": number, "max_idle_conns": number, "max_active_conns": number,
	"min_retry_backoff": span, "max_retry_backoff": span, "dial_timeout": span, "read_timeout": span,
	"write_timeout": span, "pool_timeout": span, "conn_max_idle_time": span, "idle_timeout": span,
	"conn_max_lifetime": span, "max_conn_age": span,
}

func number(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

func span(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil || number(text)
}

func truth(text string) bool { return slices.Contains([]string{"true", "false", "1", "0", ""}, text) }

// options reads what follows the question mark.
func (a *Address) options(query, kind string) error {
	all, err := url.ParseQuery(query)
	if err != nil {
		return errNotEncoded
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name][len(all[name])-1]
		check, known := ignored[name]
		switch {
		case credential.MatchString(name):
			return errors.New("a user and a password are no options: write redis://user:password@host, or use a password file")
		case name == "db" && kind == "":
			if err := a.database(value); err != nil {
				return err
			}
		case name == "skip_verify" && a.TLS && truth(value):
			a.SkipVerify = value == "true" || value == "1"
		case !known:
			return fmt.Errorf("the option %q is not known", name)
		case !check(value):
			return fmt.Errorf("the option %s has a value that cannot be read", name)
		}
	}
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
