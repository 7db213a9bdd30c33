package connect

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// answering is the URL of a server that answers all with the same words; "" hangs up in the middle of an answer.
func answering(t *testing.T, words string) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				in := bufio.NewReader(conn)
				for {
					if _, err := in.ReadString('\n'); err != nil {
						return
					}
					if words == "" {
						_, _ = conn.Write([]byte("*2\r\n$10\r\n1"))
						return
					}
					if in.Buffered() == 0 {
						if _, err := conn.Write([]byte(words + "\r\n")); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return "redis://" + listener.Addr().String()
}

// A Redis that runs is not to be started.
func TestWhatToDoAboutARedisThatRuns(t *testing.T) {
	for words, want := range map[string]string{
		"-BUSY Redis is busy running a script. You can only call SCRIPT KILL": "It is busy",
		"-ERR max number of clients reached":                                  "It is busy",
		"-LOADING Redis is loading the dataset in memory":                     "It is loading its data",
		"-MASTERDOWN Link with MASTER is down":                                "has no master",
		"":                                                                    "the answer did not come",
	} {
		r := config.Defaults().Redis
		r.URL = answering(t, words)
		_, err := Reach(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Start Redis") {
			t.Errorf("of %q it says %v, want %q", words, err, want)
		}
	}
}

// A password file that is empty is named, and not what Redis says to those who name no password.
func TestAnEmptyPasswordFileIsNamed(t *testing.T) {
	r := config.Defaults().Redis
	r.URL = redistest.Start(t, "--requirepass", "secret").URL
	r.PasswordFile = filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(r.PasswordFile, []byte(" \n"), 0o600))
	if _, err := Reach(t.Context(), r); err == nil || !strings.Contains(err.Error(), r.PasswordFile+" is empty") || !strings.Contains(err.Error(), "Write the password into it") {
		t.Errorf("it says %v", err)
	}
}
