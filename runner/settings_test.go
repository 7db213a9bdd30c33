package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"oarlock/runner/internal/tree"
)

func TestSettingsOf(t *testing.T) {
	core, files := uint64(0), uint64(1024)
	s, err := settingsOf("/x", &Sandbox{User: "root", NoNewPrivs: true, Limits: Limits{Core: &core, NoFile: &files}})
	if err != nil || s.User == nil || *s.User != (tree.User{}) || len(s.Limits) != 2 || s.Dir != "/x" || s.Nothing() {
		t.Errorf("settings are %+v, %v", s, err)
	}
	if s, err := settingsOf("/x", &Sandbox{}); err != nil || !s.Nothing() {
		t.Errorf("an empty sandbox asks for %+v, %v", s, err)
	}
	for _, b := range []Sandbox{{User: "no-such-user"}, {Group: "no-such-group"}, {User: "123456"}} {
		if _, err := settingsOf("", &b); err == nil || !strings.Contains(err.Error(), "there is no") {
			t.Errorf("%+v gives %v", b, err)
		}
	}
	if s, err := settingsOf("", &Sandbox{User: "123456", Group: "7"}); err != nil || *s.User != (tree.User{UID: 123456, GID: 7}) {
		t.Errorf("numbers give %+v, %v", s.User, err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}
