package cli

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/must"
)

// TestDemoStaysOpenUntilItIsStopped has nobody who could press Enter.
func TestDemoStaysOpenUntilItIsStopped(t *testing.T) {
	p := begin(t, newScript(t, ""), "demo", "--files", "4", "--web")
	p.await(`^The totals agree\.$`)
	_, address, _ := strings.Cut(p.await(`^The page stays until this is stopped`), "(^C):  ")
	jar, _ := cookiejar.New(nil)
	answer := must.Get((&http.Client{Jar: jar}).Get(address))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", address, answer.Status)
	}
	p.signal(syscall.SIGINT)
	p.leaves(exitOK)
}
