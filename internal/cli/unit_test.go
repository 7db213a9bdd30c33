package cli

import (
	"os"
	"strings"
	"testing"

	"oarlock/internal/config"
)

// What unit prints for the defaults is what the packages install.
func TestUnitIsThePackagedOne(t *testing.T) {
	packaged, err := os.ReadFile("../../packaging/systemd/oarlock.service")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Defaults()
	cfg.Pools["default"] = config.DefaultPool()
	var printed strings.Builder
	if err := unitText.Execute(&printed, unitFor(cfg, "/usr/bin/oarlock", "/etc/oarlock/config.toml", "oarlock")); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(printed.String(), "[Unit]")
	_, want, _ := strings.Cut(string(packaged), "[Unit]")
	if got != want {
		t.Errorf("unit prints\n%s\nthe packages install\n%s", got, want)
	}
}
