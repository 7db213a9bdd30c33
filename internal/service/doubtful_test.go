package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

// Tokens that may put and answer no parked job any more are named, with the remedy, and no others.
func TestWarnsOfTokensThatNoLongerAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	sum := strings.Repeat("0", 64)
	must.Do(t, os.WriteFile(path, []byte("shop put:orders "+sum+"\nbank put,respond:Pay "+sum+"\nanna write "+sum+"\nlooks read "+sum+"\n"), 0o600))
	cfg := config.Config{Web: config.Web{Listen: "127.0.0.1:1", TokensFile: path}}
	told := strings.Join(Warnings(cfg), "\n")
	if !strings.Contains(told, "so shop cannot") || !strings.Contains(told, "respond:CLASS") {
		t.Errorf("it says %q", told)
	}
	cfg.Web.TokensFile = ""
	if told := strings.Join(Warnings(cfg), "\n"); strings.Contains(told, "tokens_file") {
		t.Errorf("without a file it says %q", told)
	}
}
