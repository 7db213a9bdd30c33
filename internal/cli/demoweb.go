package cli

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"

	"oarlock/internal/census"
	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/demo"
	"oarlock/internal/hub"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/web"
	"oarlock/supervisor"
)

// demoOnPage lets run show what it does in a browser, too, until somebody presses Enter, or stops it.
func (p Program) demoOnPage(c *cli.Context, url string, run func(*demo.Watch) error) error {
	ctx, end := context.WithCancel(c.Context)
	quiet := slog.New(slog.DiscardHandler)
	redis, err := connect.Looking(ctx, config.Redis{URL: url, Namespace: "ql:"}, quiet)
	if err != nil {
		end()
		return err
	}
	defer redis.Close()
	listener, err := web.Loopback(ctx, usualPage)
	if err != nil {
		end()
		return err
	}
	shown := &demoShown{begun: make(chan struct{})}
	heard := hub.New(hub.Options{Snapshot: shown.Snapshot, Logger: quiet})
	counted := census.New(redis)
	app := web.New(web.Options{Redis: redis, Supervisor: shown, Census: counted, Hub: heard, Log: quiet, Version: p.version(), Redactor: service.WebRedactor(config.DefaultWeb())})
	key := web.NewKey("whoever has its address", false)
	address := listener.Addr().String()
	ended := make(chan error, 3)
	go func() { ended <- counted.Run(ctx) }()
	go func() { ended <- heard.Run(ctx) }()
	go func() { ended <- web.Serve(ctx, listener, app.Handler(service.LoopbackDoor(address, key)), nil, quiet) }()
	screen.Printf(c.App.Writer, "Look on in a browser:  %s\n\n", key.Address("http://"+address))
	err = run(&demo.Watch{
		Event: heard.Note, Line: heard.Line, Begins: shown.begins,
		Holds: func(ctx context.Context) {
			until := "until you press Enter"
			if !screen.IsTerminal(os.Stdin) {
				until = "until this is stopped (^C)"
			}
			screen.Printf(c.App.Writer, "\nThe page stays %s:  %s\n", until, key.Address("http://"+address))
			awaitEnter(ctx, c)
		},
	})
	end()
	return errors.Join(err, <-ended, <-ended, <-ended)
}

// awaitEnter returns when a line was typed, or ctx ends. Where there is no terminal nobody types: then only that counts.
func awaitEnter(ctx context.Context, c *cli.Context) {
	if !screen.IsTerminal(os.Stdin) {
		<-ctx.Done()
		return
	}
	typed := make(chan struct{})
	go func() { // ends with the process at the latest: nothing else ends a read of a terminal
		defer close(typed)
		_, _ = bufio.NewReader(c.App.Reader).ReadByte()
	}()
	select {
	case <-typed:
	case <-ctx.Done():
	}
}

// demoShown is the demo's supervisor as the web asks for it. Until it has begun there is nothing of it.
type demoShown struct {
	*supervisor.Supervisor
	begun chan struct{} // closed when there is one
}

func (s *demoShown) begins(sup *supervisor.Supervisor) {
	s.Supervisor = sup
	close(s.begun)
}

func (s *demoShown) Snapshot() supervisor.Snapshot {
	select {
	case <-s.begun:
		return s.Supervisor.Snapshot()
	default:
		return supervisor.Snapshot{Name: "demo", Redis: "ok"}
	}
}

func (s *demoShown) Status(shot supervisor.Snapshot) any { return shot }

// errDemo is what the demo does not let anybody do.
var errDemo = errors.New("the demo goes as it goes: it can be looked at; with `oarlock dev` you can change things")

func (s *demoShown) Do(context.Context, string) error         { return errDemo }
func (s *demoShown) Scale(context.Context, string, int) error { return errDemo }
func (s *demoShown) Recycle(context.Context, string) error    { return errDemo }
func (s *demoShown) Reload(string) any                        { return map[string]string{"refused": errDemo.Error()} }
func (s *demoShown) QuietPool(string) error                   { return errDemo }
func (s *demoShown) ResumePool(string) error                  { return errDemo }
func (s *demoShown) RecycleSlot(string, int) error            { return errDemo }
func (s *demoShown) StopRun(_, _ string) error                { return errDemo }
func (s *demoShown) AbandonRoll(string) error                 { return errDemo }
