package packaging_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
)

// TestNginxExample: nginx takes the example as it is but for places, asks for a password, passes on who came and by which name, lets
// what is live through as it comes and big puts whole, and asks nobody who wants to know whether it lives.
func TestNginxExample(t *testing.T) {
	must.Have(t, "nginx")
	held := make(chan struct{})
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/live"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: first\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-held:
			case <-r.Context().Done():
			}
		case r.Method == http.MethodPost:
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n, err)
		default:
			fmt.Fprintf(w, "%s host=%s user=%s origin=%s", r.URL.Path, r.Host, r.Header.Get("X-Forwarded-User"), r.Header.Get("Origin"))
		}
	}))
	defer app.Close()
	defer close(held)
	client, address := startNginx(t, app.Listener.Addr().String())
	ask := func(method, path, user string, body io.Reader) (int, string) {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), method, "https://jobs.example.org"+path, body))(t)
		r.Header.Set("X-Forwarded-User", "somebody-else")
		r.Header.Set("Origin", "https://jobs.example.org")
		if user != "" {
			r.SetBasicAuth(user, "secret")
		}
		w, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s %s at %s: %v", method, path, address, err)
		}
		defer w.Body.Close()
		if strings.HasSuffix(path, "/live") {
			line, err := bufio.NewReader(w.Body).ReadString('\n') // the answer has not ended
			if err != nil {
				t.Errorf("the stream: %v", err)
			}
			return w.StatusCode, line
		}
		text := must.Get(io.ReadAll(w.Body))(t)
		return w.StatusCode, string(text)
	}
	for _, test := range []struct {
		method, path, user string
		size, code         int
		says               string
	}{
		{"GET", "/oarlock/queues", "", 0, 401, ""},
		{"GET", "/oarlock/queues", "mallory", 0, 401, ""},
		{"GET", "/oarlock/queues", "anna", 0, 200, "/oarlock/queues host=jobs.example.org user=anna origin=https://jobs.example.org"},
		{"GET", "/oarlock/live", "anna", 0, 200, "data: first\n"},
		{"GET", "/oarlock/healthz", "", 0, 200, "/oarlock/healthz host=jobs.example.org user="},
		{"GET", "/oarlock/readyz", "", 0, 200, "/oarlock/readyz host=jobs.example.org user="},
		{"GET", "/other", "anna", 0, 404, ""},
		{"POST", "/oarlock/api/v1/queues/mail/jobs", "anna", 32 << 20, 200, fmt.Sprint(32<<20, nil)},
		{"POST", "/oarlock/api/v1/queues/mail/jobs", "anna", 33 << 20, 413, ""},
	} {
		code, text := ask(test.method, test.path, test.user, bytes.NewReader(make([]byte, test.size)))
		if code != test.code || !strings.HasPrefix(text, test.says) || test.user == "" && strings.Contains(text, "user=somebody") {
			t.Errorf("%s %s of %q with %d bytes: %d %.200q, want %d %q", test.method, test.path, test.user, test.size, code, text, test.code, test.says)
		}
	}
}

// startNginx has nginx run by the example, before an app, and gives what asks there as a browser does that finds jobs.example.org there.
func startNginx(t *testing.T, app string) (*http.Client, string) {
	t.Helper()
	dir := t.TempDir()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	listener.Close()
	certify(t, dir)
	must.Do(t, os.WriteFile(filepath.Join(dir, "htpasswd"), []byte("anna:{PLAIN}secret\n"), 0o600))
	example := read(t, "nginx.conf")
	for was, is := range map[string]string{
		"listen 443 ssl": "listen " + address + " ssl", "http://127.0.0.1:7733;": "http://" + app + ";",
		"/etc/ssl/jobs.example.org.pem": dir + "/cert.pem", "/etc/ssl/jobs.example.org.key": dir + "/key.pem", "/etc/nginx/oarlock.htpasswd": dir + "/htpasswd",
	} {
		if !strings.Contains(example, was) {
			t.Fatalf("the example has no %q", was)
		}
		example = strings.ReplaceAll(example, was, is)
	}
	conf := filepath.Join(dir, "nginx.conf")
	around := fmt.Sprintf("daemon off; master_process off; pid %[1]s/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n", dir)
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		around += fmt.Sprintf("%s_temp_path %s/%s;\n", name, dir, name)
	}
	must.Do(t, os.WriteFile(conf, []byte(around+example+"}\n"), 0o600))
	if out, err := exec.Command("nginx", "-t", "-p", dir, "-c", conf).CombinedOutput(); err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	nginx := exec.Command("nginx", "-p", dir, "-c", conf)
	var said bytes.Buffer
	nginx.Stderr = &said
	must.Do(t, nginx.Start())
	t.Cleanup(func() {
		_ = nginx.Process.Kill()
		_ = nginx.Wait()
		if t.Failed() {
			t.Logf("nginx says: %s", said.Bytes())
		}
	})
	dial := &net.Dialer{Timeout: time.Minute}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if conn, err := dial.DialContext(t.Context(), "tcp", address); err == nil {
			conn.Close()
			break
		} else if time.Since(began) > time.Minute {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the certificate is of this test
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial.DialContext(ctx, "tcp", address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, address
}

// certify writes a certificate and its key into dir.
func certify(t *testing.T, dir string) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"jobs.example.org"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	certificate := must.Get(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))(t)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: certificate}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}
