package service

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"net/url"

	"oarlock/internal/config"
	"oarlock/internal/redact"
	"oarlock/internal/web"
)

// WebDoor is the door that the table [web] describes, and its certificate, nil where there is none. w was validated, and says
// where to listen; the error is config.Problems about its files.
func WebDoor(w config.Web, log *slog.Logger) (*web.Door, *tls.Config, error) {
	gate, err := webGate(w, log)
	if err != nil {
		return nil, nil, err
	}
	door := &web.Door{Name: w.Listen, Gate: gate, Profiles: w.Pprof, ReadOnly: w.ReadOnly, Hosts: w.Names(), Origins: origins(w)}
	if w.TLSCert == "" {
		return door, nil, nil
	}
	pair, err := tls.LoadX509KeyPair(w.TLSCert, w.TLSKey)
	if err != nil {
		return nil, nil, config.Wrong("web.tls_cert", err)
	}
	return door, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// origins are those from which pages come that w names with scheme and port.
func origins(w config.Web) []string {
	var all []string
	for _, text := range append(w.Addresses(), w.URL) {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			all = append(all, web.Origin(u.Scheme+"://"+u.Host))
		}
	}
	return all
}

// LoopbackDoor is a door at an address of this host, for whoever has the key.
func LoopbackDoor(address string, key *web.Key) *web.Door {
	return &web.Door{Name: address, Gate: &web.Gate{Key: key, Cookie: cookieOf(address), Proxies: networks(nil)}}
}

// WebRedactor blanks what w says, which was validated.
func WebRedactor(w config.Web) *redact.Redactor {
	r, _ := redact.New(w.Redact, w.RedactText)
	return r
}

// webGate is who may come in.
func webGate(w config.Web, log *slog.Logger) (*web.Gate, error) {
	u, _ := url.Parse(w.URL) // validated
	gate := &web.Gate{Cookie: cookieOf(w.Listen), Secure: u.Scheme == "https"}
	if network, _ := w.Network(); network != "unix" {
		gate.Proxies = networks(w.Proxies)
	}
	if w.Auth == "none" {
		gate.All = "whoever reaches " + w.Listen
		return gate, nil
	}
	if w.TokensFile != "" {
		tokens, err := web.OpenTokens(w.TokensFile, log)
		if err != nil {
			return nil, config.Wrong("web.tokens_file", err)
		}
		tokens.Admit(w.Admits)
		gate.Tokens = tokens
	}
	if w.Auth == "proxy" {
		gate.Header = w.UserHeader
	}
	return gate, nil
}

// networks reads addresses and networks, which were validated.
func networks(texts []string) []netip.Prefix {
	all := []netip.Prefix{}
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.PrefixFrom(address, address.BitLen()))
		} else if network, err := netip.ParsePrefix(text); err == nil {
			all = append(all, network)
		}
	}
	return all
}

// cookieOf is the name of the cookie of a door: a browser keeps those of all ports of a host together.
func cookieOf(listen string) string {
	network, address := config.NetworkOf(listen)
	_, port, err := net.SplitHostPort(address)
	if network == "unix" || err != nil {
		port = "socket"
	}
	return "oarlock-" + cmp.Or(port, "socket")
}
