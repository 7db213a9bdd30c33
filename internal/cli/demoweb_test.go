package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemoStaysOpenUntilItIsStopped has nobody who could press Enter.
func TestDemoStaysOpenUntilItIsStopped(t *testing.T) {
	example, err := filepath.Abs("../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EXAMPLE", example)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	printed, out := io.Pipe()
	defer printed.Close()
	ended := make(chan int, 1)
	go func() {
		ended <- testProgram(strings.NewReader(""), out, io.Discard).Main(ctx, []string{"oarlock", "demo", "--files", "4", "--web"})
		out.Close()
	}()
	address, agrees := "", false
	lines := bufio.NewScanner(printed)
	for address == "" && lines.Scan() {
		agrees = agrees || lines.Text() == "The totals agree."
		if after, stays := strings.CutPrefix(lines.Text(), "The page stays until this is stopped (^C):  "); stays {
			address = after
		}
	}
	if !agrees || address == "" {
		t.Fatalf("the totals agree: %v; address %q", agrees, address)
	}
	jar, _ := cookiejar.New(nil)
	answer, err := (&http.Client{Jar: jar}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", address, answer.Status)
	}
	stop()
	go io.Copy(io.Discard, printed) // the rest is of no interest; ends with out
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
