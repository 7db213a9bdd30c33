package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Web is the table [web]. A change of it needs a restart.
type Web struct {
	Listen string `toml:"listen"` // "" for nowhere; host:port, or unix:PATH
	// MetricsListen is another place to listen, for whoever watches supervisors: they may ask what is told there, and nothing else.
	MetricsListen string `toml:"metrics_listen"`

	URL        string   `toml:"url"`         // how people reach it; "" is as it listens
	Prefix     string   `toml:"prefix"`      // of all paths
	Hosts      []string `toml:"hosts"`       // names by which it is reached, with scheme and port or without
	Auth       string   `toml:"auth"`        // tokens, proxy or none
	TokensFile string   `toml:"tokens_file"` // whose tokens and rights there are
	UserHeader string   `toml:"user_header"` // of a proxy
	Proxies    []string `toml:"proxies"`     // addresses and networks of proxies
	TLSCert    string   `toml:"tls_cert"`
	TLSKey     string   `toml:"tls_key"`
	ReadOnly   bool     `toml:"read_only"`
	RollCall   bool     `toml:"roll_call"` // other supervisors are asked how they are, and answered
	Pprof      bool     `toml:"pprof"`     // profiles may be taken at Listen
	MaxStreams int      `toml:"max_streams"`
	Redact     []string `toml:"redact"`      // paths in the data of jobs
	RedactText []string `toml:"redact_text"` // regular expressions

	Trusted bool `toml:"-"` // as that of Config
}

// DefaultWeb is a table [web] of which nothing is said.
func DefaultWeb() Web {
	return Web{
		Hosts: []string{}, Auth: "tokens", UserHeader: "X-Forwarded-User", Proxies: []string{}, RollCall: true, MaxStreams: 1000,
		Redact: slices.Clone(DefaultRedact), RedactText: []string{},
	}
}

// Network is how and where Listen says to listen, for net.Listen; "" and "" is nowhere.
func (w Web) Network() (network, address string) { return NetworkOf(w.Listen) }

// NetworkOf is how and where Listen or MetricsListen says to listen.
func NetworkOf(listen string) (network, address string) {
	if path, is := strings.CutPrefix(listen, "unix:"); is {
		return "unix", path
	}
	if listen == "" {
		return "", ""
	}
	return "tcp", listen
}

// Base is with what addresses begin by which others reach it: URL and Prefix, if URL does not end with that.
func (w Web) Base() string {
	base, prefix := strings.TrimSuffix(w.URL, "/"), strings.TrimSuffix(w.Prefix, "/")
	if strings.HasSuffix(base, prefix) {
		return base
	}
	return base + prefix
}

// Near reports whether only processes of this host can connect.
func (w Web) Near() bool {
	network, address := w.Network()
	host, _, err := net.SplitHostPort(address)
	return network == "unix" || err == nil && loopback(host)
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// Risk says what strangers on the network could see, a sentence; "" if they can see nothing.
func (w Web) Risk() string {
	if w.Listen == "" || w.Near() || w.TLSCert != "" || len(w.Proxies) > 0 {
		return ""
	}
	return "web.listen: tokens and data go over the network as they are to " + w.Listen + ": name tls_cert and tls_key, or listen on 127.0.0.1 behind a proxy or ssh -L."
}

// Names are the hosts by which it is reached.
func (w Web) Names() []string {
	var names []string
	for _, host := range append(slices.Clone(w.Hosts), w.URL) {
		if u, err := url.Parse(host); err == nil && u.Hostname() != "" {
			host = u.Hostname()
		}
		if host != "" {
			names = append(names, host)
		}
	}
	return names
}

// Addresses are those of Hosts that have a scheme, and with it a port.
func (w Web) Addresses() []string {
	return slices.DeleteFunc(slices.Clone(w.Hosts), func(host string) bool { return !strings.Contains(host, "://") })
}

// WebAuths are the ways in which one shows who that is.
var WebAuths = []string{"tokens", "proxy", "none"}

var (
	dataPath   = regexp.MustCompile(`^\$(\.\.?[^.\[\]*]+|\[\*\])+$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	pathPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+/?$`)
)

// mostMetricQueues bounds metrics.queues.
const mostMetricQueues = 10_000

// web notes what the table may not say. That a file has tokens is seen by whoever reads it.
func (d *decoder) web(w Web) {
	d.choice("web.auth", w.Auth, WebAuths)
	if u, err := url.Parse(w.URL); w.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		d.bad("web.url", `is no address of a page, such as "https://jobs.example.org/oarlock"`)
	}
	if w.Prefix != "" && (!pathPrefix.MatchString(w.Prefix) || strings.Contains(w.Prefix, "/.")) {
		d.bad("web.prefix", `is no beginning of paths, such as "/oarlock"`)
	}
	for _, host := range w.Hosts {
		u, err := url.Parse(host)
		address := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && host == u.Scheme+"://"+u.Host
		if !address && (host == "" || strings.ContainsAny(host, "/:")) || strings.ContainsAny(host, " *") {
			d.bad("web.hosts", `%q is neither a name of a host, such as "jobs.example.org", nor scheme, name and port: "https://jobs.example.org:8443"`, host)
		}
	}
	if w.MaxStreams < 1 {
		d.bad("web.max_streams", "must be 1 or more")
	}
	for _, path := range w.Redact {
		if !dataPath.MatchString(path) {
			d.bad("web.redact", `%q is no path in data, such as "$..password", "$.card.number" or "$.users[*].token"`, path)
		}
	}
	for _, text := range w.RedactText {
		if _, err := regexp.Compile(text); err != nil {
			d.bad("web.redact_text", "%q is no regular expression: %v", text, err)
		}
	}
	if _, _, err := net.SplitHostPort(w.MetricsListen); w.MetricsListen != "" && !strings.HasPrefix(w.MetricsListen, "unix:") && err != nil {
		d.bad("web.metrics_listen", `is neither host:port, such as ":9464", nor unix:PATH`)
	}
	if w.Listen != "" {
		d.webDoor(w)
	}
}

// webDoor notes what a door that is open may not be.
func (d *decoder) webDoor(w Web) {
	network, address := w.Network()
	if _, _, err := net.SplitHostPort(address); network == "tcp" && err != nil || address == "" {
		d.bad("web.listen", `is neither host:port, such as "127.0.0.1:7733", nor unix:PATH`)
		return
	}
	switch {
	case w.Auth == "none" && !w.Near():
		d.bad("web.auth", `"none" at %s lets everybody who reaches this host change all jobs: use "tokens", or listen on 127.0.0.1 or a Unix socket`, w.Listen)
	case w.Auth == "tokens" && w.TokensFile == "":
		d.bad("web.tokens_file", "names no file, so nobody could come in: `oarlock web token NAME --may read` prints a line for it")
	case w.Auth == "proxy" && network == "tcp" && len(w.Proxies) == 0:
		d.bad("web.proxies", "names no address, so that anybody could say any user: name those of the proxy, or listen on a Unix socket")
	}
	for _, proxy := range w.Proxies {
		if _, err := netip.ParseAddr(proxy); err == nil {
			continue
		}
		if _, err := netip.ParsePrefix(proxy); err != nil {
			d.bad("web.proxies", `%q is neither an address nor a network, such as "10.0.0.0/8"`, proxy)
		}
	}
	if !headerName.MatchString(w.UserHeader) {
		d.bad("web.user_header", "%q is no name of a header", w.UserHeader)
	}
	d.readable("web.tokens_file", w.TokensFile)
	d.readable("web.tls_cert", w.TLSCert)
	d.readable("web.tls_key", w.TLSKey)
	if (w.TLSCert == "") != (w.TLSKey == "") {
		d.bad("web.tls_cert", "tls_cert and tls_key go together")
	}
}
