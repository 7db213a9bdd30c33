package config

import (
	"fmt"
	"strings"
	"testing"

	"oarlock/internal/placeholder"
)

// What a producer chooses goes into no variable but those that are for it, whatever they are called; what the supervisor says goes
// anywhere.
func TestEnvFromJob(t *testing.T) {
	variables := strings.Fields(`PERL5DB _JAVA_OPTIONS JDK_JAVA_OPTIONS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PHPRC PHP_INI_SCAN_DIR DOTNET_STARTUP_HOOKS LUA_INIT PS4
		OPENSSL_CONF LD_PRELOAD LD_AUDIT PATH BASH_ENV BASH_FUNC_ls RUBYOPT PYTHONPATH NODE_OPTIONS HOME TMPDIR EDITOR PAGER LESSOPEN HTTP_PROXY
		MAGICK_CONFIGURE_PATH GCONV_PATH SHELL WIDTH job JOBS XJOB_ JO path`)
	load := func(name, text, more string) error {
		_, err := Load(Options{Path: write(t, "c.toml", fmt.Sprintf("[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\nenv = { %s = %q }\n%s\n", name, text, more)), Env: environment()})
		return err
	}
	for _, what := range placeholder.Names {
		text := "x{" + what + "}"
		if what == placeholder.Data {
			text = "{slot}{data.a.b}"
		}
		chosen := what == placeholder.JID || what == placeholder.Klass || what == placeholder.Queue || what == placeholder.Data
		for _, name := range variables {
			err := load(name, text, "")
			if chosen && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pools.p.env.%s: ", name)) || !strings.Contains(err.Error(), fmt.Sprintf("env_from_job = [%q]", name))) {
				t.Errorf("%s of %s: %v", name, text, err)
			}
			if !chosen && err != nil {
				t.Errorf("%s of %s: %v", name, text, err)
			}
		}
		for _, name := range []string{"JOB", "JOB_", "JOB_DATA_WIDTH"} {
			if err := load(name, text, ""); err != nil {
				t.Errorf("%s of %s: %v", name, text, err)
			}
		}
		if err := load("WIDTH", text, `env_from_job = ["WIDTH"]`); err != nil {
			t.Errorf("one that is listed: %v", err)
		}
		if err := load("WIDTH", "x", `env_from_job = ["WITDH"]`); err == nil || !strings.Contains(err.Error(), `pools.p.env_from_job: "WITDH" is not in env`) {
			t.Errorf("one that is misspelled: %v", err)
		}
	}
}
