package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// newTry is a script with this program as oarlock in its PATH.
func newTry(t *testing.T) *script {
	t.Helper()
	self := must.Get(os.Executable())(t)
	s := scriptAt(t, "", "")
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asProgram, self)
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "oarlock"), []byte(program), 0o755))
	s.env["PATH"] = s.dir + ":" + s.env["PATH"]
	return s
}

// try runs a script of the shell as `oarlock try` does.
func (s *script) try(script string, options ...string) (said string, code int) {
	code = s.anyCode(slices.Concat([]string{"try"}, options, []string{"--", "sh", "-c", script}))
	return s.said["stdout"] + s.said["stderr"], code
}

// Each verb arrives as what it says, whatever the text.
func TestSay(t *testing.T) {
	s := newTry(t)
	goesOn := []struct{ script, arrives string }{
		{`oarlock say progress 40.5 'page 4'`, `< {"@":"progress","message":"page 4","pct":40.5}`},
		{`oarlock say heartbeat`, ``},
		{`oarlock say checkpoint '{"page":4}'`, `< {"@":"checkpoint","data":{"page":4}}`},
		{`oarlock say log --level warn hot`, `< warn: hot`},
		{`oarlock say tag red 'two words'`, `< {"@":"tag","tags":["red","two words"]}`},
		{`oarlock say untag red --jid j`, `< {"@":"untag","jid":"j","tags":["red"]}`},
		{`oarlock say track; oarlock say untrack`, `< {"@":"untrack"}`},
		{`oarlock say priority -2.5`, `< {"@":"priority","priority":-2.5}`},
		{`oarlock say note 'page "4"' --data '{"page": 4}'`, `< {"@":"note","data":{"page":4},"message":"page \"4\""}`},
	}
	for _, tt := range []struct{ script, arrives string }{
		{`oarlock say ack`, `< {"@":"ack"}`},
		{`oarlock say ack --data '{"n":9007199254740993}' --next other --delay 90s --depends a --depends b`,
			`< {"@":"ack","next":"other","delay":90,"depends":["a","b"],"data":{"n":9007199254740993}}`},
		{`oarlock say retry --delay 1500ms 'the "printer" is away'`, `< {"@":"retry","message":"the \"printer\" is away","delay":1.5}`},
		{`oarlock say fail --group bad-image -- '--not a
JPEG'`, `< {"@":"fail","group":"bad-image","message":"--not a\nJPEG"}`},
		{`oarlock say fail help`, `< {"@":"fail","message":"help"}`},
		{`oarlock say fail -- h`, `< {"@":"fail","message":"h"}`},
		{`oarlock say fail -- --help`, `< {"@":"fail","message":"--help"}`},
		{`oarlock say release --delay 2s`, `< {"@":"release","delay":2}`},
		{`oarlock say unknown --klass Inner`, `< {"@":"unknown","klass":"Inner"}`},
		{`oarlock say bye tired`, `< {"@":"bye","reason":"tired"}`},
		{`oarlock say cancel`, `it said cancel: the job is canceled`},
		{`oarlock say cancel --jid other`, `a cancel of another job, other, and allow does not name that`},
		{`oarlock say requeue --delay 90s`, `< {"@":"requeue","delay":90}`},
		{`oarlock say requeue --delay 90s`, `is put again into try after 1m 30s, with all its retries`},
		{`oarlock say requeue elsewhere`, `the child asked for queue "elsewhere", which is not in next_queues`},
		{`oarlock say put mail '{"to":"ann"}' --tag a --tag b --jid j --if-exists replace --priority 3 --retries 0 --timeout 5s --throttle t --depends d --weight 2 --window night --window 05:00-07:00 --zone Asia/Tokyo`, `the child put a job into queue "mail"`},
	} {
		arrived(t, s, tt.script, tt.arrives)
	}
	// What does not end the job goes in one, and by stdout, too.
	var script strings.Builder
	arrive := []string{`< {"@":"ack"}`}
	for _, tt := range goesOn {
		fmt.Fprintln(&script, tt.script)
		arrive = append(arrive, tt.arrives)
	}
	script.WriteString("oarlock say ack")
	arrived(t, s, script.String(), arrive...)
	arrived(t, s, "exec 3>&-; "+script.String(), arrive...)
}

// By stdout a line arrives also behind words that their program has not ended, and the log has no empty line for that.
func TestSayBehindOthers(t *testing.T) {
	told, code := newTry(t).try(`exec 3>&-; printf 'half a line '; oarlock say progress 40; oarlock say note one; oarlock say ack`)
	if code != exitOK || !strings.Contains(told, "half a line") || !strings.Contains(told, `< {"@":"progress","pct":40}`) || !strings.Contains(told, `< {"@":"ack"}`) {
		t.Errorf("exit code %d:\n%s", code, told)
	}
	if strings.Contains(told, "<   stdout") {
		t.Errorf("there is an empty line:\n%s", told)
	}
}

// arrived fails unless a script of the shell says what arrives.
func arrived(t *testing.T, s *script, script string, arrives ...string) {
	t.Helper()
	told, _ := s.try(script)
	for _, want := range arrives {
		if !strings.Contains(told, want) || strings.Contains(told, "refused: it") {
			t.Errorf("%s: arrived\n%s\nwant %s", script, told, want)
		}
	}
}

// What cannot arrive, or would not be understood, is refused by the one who says it.
func TestSayRefuses(t *testing.T) {
	s := newTry(t)
	for _, tt := range []struct {
		script, why string
		code        int
		options     []string
	}{
		{`oarlock say progress much`, `"much" is no number of percent`, exitUsage, nil},
		{`oarlock say progress`, "name percent [message]", exitUsage, nil},
		{`oarlock say checkpoint '{"a"'`, "not JSON", exitUsage, nil},
		{`oarlock say ack --data '{"a":
1}'`, "not JSON on one line", exitUsage, nil},
		{`oarlock say ack --data '1,"@":"fail"'`, "not JSON", exitUsage, nil},
		{`oarlock say put mail --if-exists always`, "if_exists is not one of replace, final, never", exitUsage, nil},
		{`oarlock say tag`, "name tag", exitUsage, nil},
		{`oarlock say tag ""`, "empty or longer", exitUsage, nil},
		{`oarlock say priority high`, `"high" is no number`, exitUsage, nil},
		{`oarlock say note m --data 7`, "neither an object nor a list", exitUsage, nil},
		{`oarlock say put mail --weight 101`, "weight is not a whole number", exitUsage, nil},
		{`oarlock say put mail --retries -1`, "retries is not a whole number", exitUsage, nil},
		{`oarlock say checkpoint "$(head -c 70000 /dev/zero | tr '\0' 1)"`, "at most 65536 bytes", exitData, nil},
		{`OARLOCK_MAX_LINE=50 oarlock say fail "$(seq 100)"`, "this pool reads 50 (max_line)", exitData, nil},
		{`oarlock say ack`, "nothing but the exit code", exitData, []string{"--status", "exit"}},
		{`exec 3>&-; oarlock say ack`, "is not open here", exitData, []string{"--status", "fd"}},
		{`exec 3>&- 3</dev/null; unset OARLOCK_RUN; oarlock say ack`, "or name the run: --run", exitData, nil},
		{`unset OARLOCK_RUN OARLOCK_STATUS_FD; oarlock say ack`, "this is no job", exitData, nil},
	} {
		said, _ := s.try(tt.script+"; echo exit $?", tt.options...)
		if !strings.Contains(said, tt.why) || !strings.Contains(said, fmt.Sprint("exit ", tt.code)) || !strings.Contains(said, "exit code 0") {
			t.Errorf("%s said:\n%s\nwant %q, exit %d, and no word to the supervisor", tt.script, said, tt.why, tt.code)
		}
	}
}
