package cli

import (
	"os"
	"path/filepath"
	"testing"

	"oarlock/internal/must"
)

func TestPutRefusesWhatIsNotUTF8(t *testing.T) {
	s, _ := scriptOn(t, "")
	if err := s.oarlock(exitUsage, []string{"put", "q", "\"caf\xe9\""}); err != nil {
		t.Error(err)
	}
	s.says(t, exitUsage, "put q \"caf\xe9\"", "it is not UTF-8 from byte 4 on")
	file := filepath.Join(t.TempDir(), "jobs")
	must.Do(t, os.WriteFile(file, []byte("1\n\"caf\xe9\"\n"), 0o600))
	s.says(t, exitFailed, "put q --file "+file, "line 2: it is not UTF-8 from byte 4 on")
}
