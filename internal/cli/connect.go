package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// connect opens Redis for a command that asks it something and ends. The caller closes
// the client.
func connect(c *cli.Context) (*queue.Client, error) {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return nil, err
	}
	cfg, own, err := findOwn(c.Context, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Redis.URL == "embedded" {
		return nil, misused("redis.url is \"embedded\": that Redis lives inside of `oarlock run` or `oarlock dev` only, and none runs with this configuration.\n" +
			"Start one, or name the address it printed: --redis URL, or REDIS_URL.")
	}
	if own != "" && screen.IsTerminal(c.App.ErrWriter) {
		screen.Printf(c.App.ErrWriter, "%s\n", screen.Paint(c.App.ErrWriter, screen.Dim, fmt.Sprintf("With the Redis of the supervisor %s, %s.", own, cfg.Redis.URL)))
	}
	client, err := openRedis(c.Context, cfg.Redis, nil)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(c.Context); err != nil {
		client.Close()
		if why := wrongURL(cfg.Redis.URL, err); why != "" {
			return nil, config.Problems{{Key: "redis.url", Why: why}}
		}
		return nil, redisAway(cfg.Redis.URL, err)
	}
	return client, nil
}

// openRedis prepares a client; it does not connect yet.
func openRedis(ctx context.Context, r config.Redis, logger *slog.Logger) (*queue.Client, error) {
	client, err := queue.Open(ctx, queue.Options{
		URL:          r.URL,
		Namespace:    r.Namespace,
		PasswordFile: r.PasswordFile,
		TLSCA:        r.TLSCA,
		TLSCert:      r.TLSCert,
		TLSKey:       r.TLSKey,
		WaitReplicas: r.WaitReplicas,
		Logger:       logger,
	})
	if err != nil {
		return nil, config.Wrong("redis", err)
	}
	return client, nil
}

// away is the error of a Redis that a command could not use.
type away struct {
	at  string // its address
	err error
}

func (a away) Unwrap() error { return a.err }

// Error says which Redis did not answer, why, and what to do about it.
func (a away) Error() string {
	why := strings.TrimPrefix(a.err.Error(), "time: ") // the command it was asked by
	why = strings.TrimPrefix(why, "connect to "+a.at+": ")
	return fmt.Sprintf("Redis at %s does not answer: %s\n%s", a.at, why, advice(a.err))
}

func redisAway(url string, err error) error { return away{address(url), err} }

// wrongURL says what is wrong with the URL of a Redis that gave err, where no waiting will help; "" if
// that is not known. It takes three seconds at most.
func wrongURL(url string, err error) string {
	if text := err.Error(); strings.Contains(text, "DB index is out of range") || strings.Contains(text, "invalid DB index") {
		return fmt.Sprintf("the Redis at %s has no database of that number: name a lower one, redis://host:6379/0, or raise databases in redis.conf", address(url))
	}
	if is := stranger(url); is != "" {
		return fmt.Sprintf("at %s %s", address(url), is)
	}
	return ""
}

// stranger asks what is at the address of url where Redis was expected and something else answered: it
// says so of an HTTP server, a port that wants TLS, or one without; "" if it cannot tell. It takes two seconds
// at most.
func stranger(url string) string {
	scheme, _, _ := strings.Cut(url, "://")
	at := address(url)
	if scheme != "redis" && scheme != "rediss" || strings.Contains(at, ",") {
		return ""
	}
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(at, "6379")
	}
	const within = time.Second
	probe := func(words string) string {
		conn, err := net.DialTimeout("tcp", at, within)
		if err != nil {
			return ""
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(within))
		_, _ = conn.Write([]byte(words))
		answer := make([]byte, 16)
		n, _ := io.ReadFull(conn, answer)
		return string(answer[:n])
	}
	switch answer := probe("GET / HTTP/1.0\r\n\r\n"); {
	case strings.HasPrefix(answer, "HTTP/") && scheme == "redis" && speaksTLS(at, within):
		return tlsWords // some answer in the clear that they will not
	case strings.HasPrefix(answer, "HTTP/"):
		return "there is an HTTP server, and no Redis"
	case scheme == "rediss" && (strings.HasPrefix(answer, "-") || strings.HasPrefix(probe("*1\r\n$4\r\nPING\r\n"), "+PONG")): // as Redis answers what is no command
		return "there is a Redis without TLS: write redis:// instead of rediss://"
	case strings.HasPrefix(answer, "\x15\x03"): // a TLS alert
		return tlsWords
	case answer == "" && scheme == "redis" && speaksTLS(at, within):
		return tlsWords
	}
	return ""
}

const tlsWords = "the port wants TLS: write rediss:// instead of redis://"

// speaksTLS reports whether a server at an address shakes hands as TLS has it, whatever its certificate.
func speaksTLS(at string, within time.Duration) bool {
	conn, err := net.DialTimeout("tcp", at, within)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(within))
	// Nothing is sent over it; it is only asked what it is.
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake()
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert) || !errors.As(err, &record) && strings.Contains(err.Error(), "tls: ")
}

// redisTrouble splits what a supervisor says of its Redis: what is wrong with it, and why.
func redisTrouble(text string) (what, why string) {
	for _, state := range []string{supervisor.NoWrites, supervisor.NoMemory} {
		if why, is := strings.CutPrefix(text, state+": "); is {
			return state, why
		}
	}
	return "is away", text
}

// advice is what a user can do about an error of Redis. It is the one place that reads
// the text: the driver leaves nothing else of what the system said.
func advice(err error) string {
	text := err.Error()
	switch {
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
		return "Raise its maxmemory, or keep fewer completed jobs: oarlock config set jobs-history-count N."
	case strings.Contains(text, "NOPERM"):
		return "The user of Redis may not run that; queue/ACL.md lists what it needs."
	}
	return "Start Redis, or name another one with --redis URL or REDIS_URL. To try Oarlock without one: oarlock dev"
}

// address is what a user needs of a URL to know which Redis was meant; no password.
func address(text string) string {
	place, err := queue.Place(text)
	if err != nil || !strings.Contains(text, "://") {
		return "the configured URL"
	}
	return place
}

// verb is a command that asks Redis something and ends.
type verb struct {
	name, usage string
	words       string // what follows, for the help
	least, most int    // how many words; most below zero is any number
	flags       []cli.Flag
	do          func(c *cli.Context, q *queue.Client) error
}

// command makes v a command of the command line.
func (v verb) command() *cli.Command {
	return &cli.Command{
		Name:      v.name,
		Usage:     v.usage,
		ArgsUsage: v.words,
		Flags:     v.flags,
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, v.least, v.most, v.words); err != nil {
				return err
			}
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			return worded(c, v.do(c, client))
		},
	}
}

// group is a command that only has others below it.
func group(name, usage string, verbs ...verb) *cli.Command {
	command := &cli.Command{Name: name, Usage: usage, Category: "jobs in Redis"}
	var names []string
	for _, v := range verbs {
		command.Subcommands = append(command.Subcommands, v.command())
		names = append(names, v.name)
	}
	command.Action = func(*cli.Context) error {
		return misused("name one of %s; `oarlock %s --help` tells more", strings.Join(names, ", "), name)
	}
	return command
}

// said prints a short answer, which --json makes an object.
func said(c *cli.Context, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return show(c, map[string]string{"done": text}, func(w io.Writer) { screen.PrintLine(w, text) })
}
