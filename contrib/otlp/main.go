// Otlp tells a collector of traces, by OTLP over HTTP in JSON, of the attempts that an Oarlock supervisor works: one span each,
// of the jobs that are part of a trace which somebody wants to see.
//
//	otlp -socket '/var/lib/oarlock/control-*.sock' -endpoint http://localhost:4318/v1/traces
//
// It is a program of its own, a reader of the events of the API: whatever becomes of it or of the collector, no job waits for it.
// Where the collector is away it waits, and goes on where it was, as far as the supervisor remembers: five minutes, 10,000
// events. It needs nothing but the standard library, and knows of Oarlock what the API says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "otlp:", err)
		os.Exit(64)
	}
}

// run exports until ctx ends. The error is one of usage: whatever else goes wrong may pass, and is logged.
func run(ctx context.Context, args []string, env func(string) string) error {
	flags := flag.NewFlagSet("otlp", flag.ContinueOnError)
	socket := flags.String("socket", "", "control `SOCKET` of a supervisor; of a pattern such as control-*.sock the newest that answers")
	address := flags.String("url", "", "or: `URL` of its page, with a token in $OARLOCK_TOKEN that may read")
	endpoint := flags.String("endpoint", endpointOf(env), "`URL` of the collector")
	service := flags.String("service", first(env("OTEL_SERVICE_NAME"), "oarlock"), "`NAME` of the service that the spans are of")
	state := flags.String("state", "", "`FILE` that keeps how far it came, so that it goes on there when it is started again")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch {
	case (*socket == "") == (*address == ""):
		return errors.New("give -socket or -url, one of them: where the supervisor is")
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no option", flags.Arg(0))
	}
	for _, text := range []string{*endpoint, first(*address, "http://socket")} {
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%q is no URL such as http://localhost:4318/v1/traces", text)
		}
	}
	headers, err := headersOf(env("OTEL_EXPORTER_OTLP_HEADERS"))
	if err != nil {
		return err
	}
	export(ctx, newSource(*socket, *address, env("OARLOCK_TOKEN"), log),
		&sink{endpoint: *endpoint, headers: headers, service: *service, log: log}, &place{file: *state, log: log})
	return nil
}

// endpointOf is where traces go by the variables that all exporters know.
func endpointOf(env func(string) string) string {
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
		return first(env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), strings.TrimSuffix(base, "/")+"/v1/traces")
	}
	return first(env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "http://localhost:4318/v1/traces")
}

// headersOf reads name=value,name=value, values percent-encoded.
func headersOf(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, is := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		switch {
		case strings.TrimSpace(pair) == "":
		case !is, err != nil, strings.TrimSpace(name) == "":
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is none of name=value,name=value") // it may hold a secret
		default:
			headers[strings.TrimSpace(name)] = value
		}
	}
	return headers, nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
