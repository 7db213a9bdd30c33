package connect

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// wrongURL says what is wrong with the URL of a Redis that gave err, where no waiting will help; "" if
// that is not known. It takes three seconds at most.
func wrongURL(url string, err error) string {
	if text := err.Error(); strings.Contains(text, "DB index is out of range") || strings.Contains(text, "invalid DB index") {
		return fmt.Sprintf("the Redis at %s has no database of that number: name a lower one, redis://host:6379/0, or raise databases in redis.conf", Address(url))
	}
	if is := stranger(url); is != "" {
		return fmt.Sprintf("at %s %s", Address(url), is)
	}
	return ""
}

// stranger asks what is at the address of url where Redis was expected and something else answered: it
// says so of an HTTP server, a port that wants TLS, or one without; "" if it cannot tell. It takes two seconds
// at most.
func stranger(url string) string {
	scheme, _, _ := strings.Cut(url, "://")
	at := place(url)
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
