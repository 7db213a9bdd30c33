package runner

import (
	"fmt"
	"strings"
	"testing"
)

// What is written in a configuration, or told to children, is read as what it was.
func TestNamesAreReadAsWhatTheyStandFor(t *testing.T) {
	for _, tt := range []struct {
		value fmt.Stringer
		name  string
	}{
		{Once, "once"}, {Reuse, "reuse"}, {Preload, "preload"},
		{InputJob, "job"}, {InputData, "data"}, {InputNone, "none"},
		{StatusAuto, "auto"}, {StatusFD, "fd"}, {StatusLines, "lines"}, {StatusExit, "exit"},
		{KillAuto, "auto"}, {KillCgroup, "cgroup"}, {KillGuard, "guard"}, {KillGroup, "group"},
	} {
		if name := tt.value.String(); name != tt.name {
			t.Errorf("%T %d is called %q, want %q", tt.value, tt.value, name, tt.name)
		}
		if read, err := parseAs(tt.value, tt.name); read != tt.value || err != nil {
			t.Errorf("%q is read as %v (%v), want %v", tt.name, read, err, tt.value)
		}
		for _, wrong := range []string{"", "unknown", strings.ToUpper(tt.name), tt.name + " "} {
			if _, err := parseAs(tt.value, wrong); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", wrong)) || !strings.Contains(err.Error(), tt.name) {
				t.Errorf("%q as %T: %v, want an error that names it, and %s", wrong, tt.value, err, tt.name)
			}
		}
	}
	for _, none := range []fmt.Stringer{Preload + 1, InputNone + 1, StatusExit + 1, KillGroup + 1} {
		same(t, none.String(), "unknown", "%T without a name is called %q", none)
	}
}

// parseAs reads a name as what kind is one of.
func parseAs(kind any, name string) (fmt.Stringer, error) {
	switch kind.(type) {
	case Mode:
		return ParseMode(name)
	case Input:
		return ParseInput(name)
	case StatusFrom:
		return ParseStatusFrom(name)
	case KillStrength:
		return ParseKillStrength(name)
	}
	panic(fmt.Sprintf("no names of a %T are read", kind))
}
