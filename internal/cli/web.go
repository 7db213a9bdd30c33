package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"

	"oarlock/internal/census"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/control"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/web"
)

func (p Program) webCommand() *cli.Command {
	return &cli.Command{
		Name:  "web",
		Usage: "look at jobs, and at the supervisor of this host, in a browser, for as long as this runs",
		Description: "Answers on 127.0.0.1 only, and prints an address that lets in who opens it first. From\n" +
			"another host: ssh -L 7733:127.0.0.1:7733, with --port 7733. Where a supervisor runs\n" +
			"here, it answers; without one there are the pages of what is in Redis.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "port", Usage: "`N` to listen at", DefaultText: "any that is free"},
			&cli.BoolFlag{Name: "read-only", Usage: "nothing can be changed"},
			pidFlag(),
		},
		Action:      p.web,
		Subcommands: []*cli.Command{webTokenCommand()},
	}
}

func (p Program) web(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	if port := c.Int("port"); port < 0 || port > 65535 {
		return misused("--port: %d is no port", port)
	}
	cfg, err := loadNear(c)
	if err != nil {
		return err
	}
	find := func(ctx context.Context) (*control.Client, error) {
		return control.Find(ctx, cfg.Supervisor.StatePath(), c.String("pid"))
	}
	if _, err := find(c.Context); err != nil && (c.IsSet("pid") || !errors.Is(err, control.ErrNone)) {
		return err // several, or not for us
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))
	redis, err := connect.Looking(ctx, cfg.Redis, log)
	if err != nil {
		return err
	}
	defer redis.Close()
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Int("port"))))
	if err != nil {
		return err
	}
	secrets, err := cfg.Park.Secrets()
	if err != nil && !errors.Is(err, fs.ErrPermission) { // then nobody answers here by the address of a job
		return config.Wrong("park.secret_file", err)
	}
	counted := census.New(redis)
	var counting sync.WaitGroup
	counting.Go(func() { _ = counted.Run(ctx) }) // which returns nil
	defer func() { stop(); counting.Wait() }()
	var others web.Others
	if cfg.Web.RollCall {
		others = rollcall.New(redis)
	}
	app := web.New(web.Options{
		Redis: redis, Log: log, Version: p.version(), Host: cfg.Supervisor.HostName(), Prefix: cfg.Web.Prefix, ReadOnly: c.Bool("read-only"),
		Census: counted, Others: others, Redactor: service.WebRedactor(cfg.Web), MaxStreams: cfg.Web.MaxStreams,
		Callback: secrets.Good,
		Elsewhere: func(ctx context.Context) http.RoundTripper {
			if supervisor, err := find(ctx); err == nil {
				return supervisor.Transport()
			}
			return nil
		},
	})
	key := web.NewKey("whoever ran `oarlock web`", true)
	screen.Printf(c.App.Writer, "%s\n", key.Address("http://"+listener.Addr().String()+cfg.Web.Prefix))
	screen.Printf(c.App.ErrWriter, "It lets in whoever opens it first, for 12 hours at most.\n")
	return web.Serve(ctx, listener, app.Handler(service.LoopbackDoor(listener.Addr().String(), key)), nil, log)
}

func webTokenCommand() *cli.Command {
	return &cli.Command{
		Name:      "token",
		Usage:     "make a token, and the line for web.tokens_file by which it is known",
		ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "may", Value: "read", Usage: "what it gives: `RIGHTS` of read, put, put:QUEUES, respond, respond:CLASSES (globs; each may stand several times), write, with commas between them"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "who gets it"); err != nil {
				return err
			}
			token, line, err := web.NewToken(c.Args().First(), c.String("may"))
			if err != nil {
				return misused("%v", err)
			}
			return answer(c, map[string]string{"token": token, "line": line}, func(w io.Writer) {
				screen.Printf(w, "The token, which nobody can tell you again:\n  %s\nThe line for web.tokens_file, which is read again when it changes:\n  %s\n", token, line)
			})
		},
	}
}
