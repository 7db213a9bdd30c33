package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
)

// others are texts that somebody else wrote and a program prints. None of them is its word.
var others = []string{
	`{"@":"ack"}`,
	`{"@":"fail","group":"forged"}`,
	`{"@":"retry","run":null,"delay":0}`,
	`{"@":"release","run":""}`,
	`{"@":"unknown","run":"r0"}`,
	`{"@":"put","queue":"bank","data":{"to":"me"}}`,
	`{"@":"put","run":"$OARLOCK_RUN","queue":"bank"}`,
	`{"@":"checkpoint","data":"forged"}`,
	`{"@":"progress","pct":99}`,
	`{"@":"cancel"}`,
	`{"@":"cancel","jid":"r1"}`,
	`{"@":"requeue","queue":"bank"}`,
	`{"@":"tag","tags":["forged"]}`,
	`{"@":"priority","priority":99}`,
	`{"@":"note","message":"forged"}`,
	`{"@":"log","level":"error","message":"forged"}`,
	`{"@":"hello","v":[1],"caps":["cancel","shutdown"]}`,
	`{"@":"hello","v":[9]}`,
	`{"@":"bye"}`,
	`{"@":"job","@":"ack"}`,
	`{"run":"r1x","@":"fail"}`,
	`{"data":{"@":"fail","run":"r1"}}`,
	`{"@":"weather","run":"r1","data":{"@":"ack"}}`,
	`{"@":"fail"` + "\r",
	"\x00\xff{\"@\":\"fail\"}\x1b[2J",
	`{"\u0040":"fail"}`,
	`run=r1 {"@":"fail"}`,
	`{"@":"fail","x":{"run":"r1"}}`,
	`+ echo '{"@":"fail","run":"r1"}'`,
	`{"data":"x"} {"@":"fail","message":"y","run":"r1"}`,
	`{"@":"ack"} {"@":"job","run":"r1"}`,
}

// printsOthers prints those texts, the whole line it read (run included) and its
// environment; then says its own word, last, and leaves with 65.
const printsOthers = `
	while IFS= read -r job; do
		cat "$1"
		printf '%s\n' "$job" "$job$job"
		env
		printf '\n%s\n' "$2" | sed "s/RUN/$(printf '%s' "$job" | sed 's/.*"run":"\([^"]*\)".*/\1/')/"
		[ "$OARLOCK_MODE" = once ] && exit 65
	done`

// What a program prints about its input is log, in every mode, and its own word counts.
func TestOthersTextsAreNoCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "others")
	must(t, os.WriteFile(path, []byte(strings.Join(others, "\n")+"\n"), 0o600))
	h := newHost(t)
	for name, spec := range map[string]*Spec{
		"once":                {Mode: Once},
		"once, strict":        {Mode: Once, Strict: true},
		"once on a terminal":  {Mode: Once, PTY: true},
		"once, data":          {Mode: Once, Input: InputData},
		"reuse":               {Mode: Reuse},
		"reuse with hello":    {Mode: Reuse, Hello: HelloRequired},
		"the descriptor only": {Mode: Once, Status: StatusFD},
	} {
		t.Run(name, func(t *testing.T) {
			script, own := printsOthers, `{"@":"fail","run":"RUN","group":"own"}`
			switch {
			case spec.Hello == HelloRequired:
				script = `echo '{"@":"hello","v":[1]}'; read -r hello` + script
			case spec.Input == InputData:
				own = "" // its exit code is its word
			case spec.Status == StatusFD:
				script = strings.Replace(script, "| sed", "| tee /dev/fd/1 | sed", 1)
				own = `{"@":"fail","group":"own"}`
				script = strings.Replace(script, `[ "$OARLOCK_MODE" = once ]`, `printf '%s\n' "$2" >&3; [ "$OARLOCK_MODE" = once ]`, 1)
			}
			spec.Command = append(shell(script), "sh", path, own)
			e, w := runOnce(t, h, spec, RunLimits{})
			if spec.Input == InputData {
				if e.Kind != Exited || e.Action != protocol.ExitFail {
					t.Errorf("%v, %v: %s; want its exit code to decide", e.Kind, e.Action, e.Message)
				}
			} else if e.Kind != Said || e.Group != "own" {
				t.Errorf("%v %q: %s; want its own word", e.Kind, e.Group, e.Message)
			}
			if len(e.Wishes) > 0 || w.told() > 0 {
				t.Errorf("%d wishes: %+v", w.told(), e.Wishes)
			}
			if len(e.Puts) > 0 || e.Checkpoint != nil || w.progress > 0 || len(w.byes) > 0 {
				t.Errorf("%d puts, checkpoint %q, %d times progress, byes %q", len(e.Puts), e.Checkpoint, w.progress, w.byes)
			}
			if got := len(w.refused); got < 7 {
				t.Errorf("refused verdicts: %q", w.refused)
			}
			for _, line := range w.lines() {
				if line.record != nil {
					t.Errorf("a record in the log: %+v", line)
				}
				if line.text == `{"@":"put","queue":"bank","data":{"to":"me"}}` && line.refused == "" {
					t.Error("a refused put is in the log without the reason")
				}
			}
		})
	}
}

// By the descriptor, by naming the run, or where its pool believes all lines.
func TestWordsThatCount(t *testing.T) {
	const fail = `{"@":"fail","group":"own"}`
	named := `"{\"@\":\"fail\",\"run\":\"$OARLOCK_RUN\",\"group\":\"own\"}"`
	h := newHost(t)
	for _, tt := range []struct {
		name, script string
		spec         Spec
		counts       bool
	}{
		{"on stdout, without its run", `echo '` + fail + `'`, Spec{}, false},
		{"on stdout, with its run", `echo ` + named, Spec{}, true},
		{"on stdout, with its run, strict", `echo ` + named, Spec{Strict: true}, true},
		{"on the descriptor", `echo '` + fail + `' >&3`, Spec{}, true},
		{"on the descriptor, strict", `echo '` + fail + `' >&3`, Spec{Strict: true}, false},
		{"on stdout, after the descriptor was used", `echo '{"@":"progress","pct":1}' >&3; echo ` + named, Spec{}, true},
		{"on stdout of one that was told to use the descriptor", `echo ` + named, Spec{Status: StatusFD}, false},
		{"on the descriptor of such a one", `echo '` + fail + `' >&3`, Spec{Status: StatusFD}, true},
		{"on stdout, all lines believed", `echo '` + fail + `'`, Spec{Status: StatusLines}, true},
		{"on stdout, behind text without an end", `printf '%s' '{"@":"ack","message":"of a user'; echo ` + named, Spec{}, true},
		{"on stdout, before text", `echo ` + named + `"{\"@\":\"ack\"}"`, Spec{}, true},
		{"on stdout, two without an end", `printf %s '{"@":"heartbeat","run":"r1"}'; printf %s ` + named, Spec{}, true},
		{"on the descriptor, two without an end", `printf %s '{"@":"heartbeat"}' >&3; printf %s ` + named + ` >&3`, Spec{}, true},
		{"at the end of a text longer than a line may be", `head -c 3000000 /dev/zero | tr '\0' x; echo ` + named, Spec{}, true},
		{"on stdout, behind text, of another's run", `printf x; echo '{"@":"fail","group":"own","run":"r2"}'`, Spec{}, false},
		{"on stderr", `echo ` + named + ` >&2`, Spec{}, false},
		{"by exit code alone", `echo ` + named, Spec{Status: StatusExit}, false},
		{"of a run that is another's", `echo '{"@":"fail","group":"own","run":"r2"}'`, Spec{}, false},
		{"after hello, without its run", `echo '{"@":"hello","v":[1]}' >&3; echo '` + fail + `' >&3; exit 66`, Spec{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Command = shell(tt.script)
			e, w := runOnce(t, h, &tt.spec, RunLimits{})
			if counts := e.Kind == Said && e.Group == "own"; counts != tt.counts {
				t.Errorf("%v %q: %s; want it to count: %v", e.Kind, e.Group, e.Message, tt.counts)
			}
			heard := tt.spec.Status == StatusExit || strings.HasPrefix(tt.script, "printf x") || strings.HasSuffix(tt.script, ">&2")
			if want := !tt.counts && !heard; (len(w.refused) == 1) != want {
				t.Errorf("refused %q; want one: %v", w.refused, want)
			}
		})
	}
}

// A verdict that is longer than the limit fails its job by name, whatever the exit code.
func TestTooLong(t *testing.T) {
	h := newHost(t)
	long := `head -c 20000 /dev/zero | tr '\0' x`
	for _, tt := range []struct {
		name, script string
		mode         Mode
		kind         EndingKind
		group        string
	}{
		{"ack with its run", `printf '{"@":"ack","run":"r1","data":"'; ` + long + `; echo '"}'`, Once, TooLong, "verdict-too-long"},
		{"ack of a reused child", `read -r job; printf '{"@":"ack","run":"r1","data":"'; ` + long + `; echo '"}'; read -r job`, Reuse, TooLong, "verdict-too-long"},
		{"fail on the descriptor", `{ printf '{"@":"fail","message":"'; ` + long + `; echo '"}'; } >&3`, Once, TooLong, "verdict-too-long"},
		{"without an end", `printf '{"@":"ack","run":"r1","data":"'; ` + long, Once, TooLong, "verdict-too-long"},
		{"the verb at the end, on the descriptor", `{ printf '{"data":"'; ` + long + `; echo '","@":"ack"}'; } >&3`, Once, TooLong, "verdict-too-long"},
		{"put", `printf '{"@":"put","run":"r1","data":"'; ` + long + `; echo '"}'`, Once, TooLong, "put-too-long"},
		{"ack of somebody else", `printf '{"@":"ack","data":"'; ` + long + `; echo '"}'`, Once, Exited, ""},
		{"progress", `printf '{"@":"progress","run":"r1","message":"'; ` + long + `; echo '"}'`, Once, Exited, ""},
		{"behind text without an end", `printf working; printf '{"@":"fail","run":"r1","data":"'; ` + long + `; echo '"}'`, Once, TooLong, "verdict-too-long"},
		{"its own behind that of somebody else", `printf '{"@":"ack","data":"'; ` + long + `; echo '{"@":"fail","run":"r1","group":"own"}'`, Once, Said, "own"},
		{"a text", `printf '{"data":"'; ` + long + `; echo '","@":"ack"}'`, Once, Exited, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, w := runOnce(t, h, &Spec{Mode: tt.mode, MaxLine: 10000, Command: shell(tt.script)}, RunLimits{})
			if e.Kind != tt.kind || e.Group != tt.group {
				t.Fatalf("%v %q: %s; want %v %q", e.Kind, e.Group, e.Message, tt.kind, tt.group)
			}
			if tt.kind == TooLong && (!strings.Contains(e.Message, "20") || !strings.Contains(e.Message, "reads 10000")) {
				t.Errorf("message %q; want length and limit", e.Message)
			}
			if !strings.Contains(w.text("r1"), `{"`) {
				t.Errorf("log %q; want the beginning of the line", w.text("r1"))
			}
		})
	}
}

// A hello on stdout counts until the child has read of a job, and no longer.
func TestLateHello(t *testing.T) {
	h, w := newHost(t), newWitness()
	hello := `echo '{"@":"hello","v":[1],"caps":["cancel"]}'`
	c := start(t, h, &Spec{Mode: Reuse, Command: shell(`while read -r job; do ` + hello + `; run=${job#*'"run":"'}
		echo "{\"@\":\"ack\",\"run\":\"${run%%'"'*}\"}"; done`)}, w)
	for i := range 3 {
		mustRun(t, c, newJob(fmt.Sprint("r", i)), RunLimits{})
		expectEnding(t, await(t, w.endings, "ending"), Said, "")
	}
	if c.Hello() != nil {
		t.Error("a hello after the first job was believed")
	}
	c.Shutdown(time.Second)
	await(t, c.Exited(), "exit")
}

// A job cannot be put again under its own jid and move on to another queue as well.
func TestPutsItselfAndMovesOn(t *testing.T) {
	h := newHost(t)
	put := `echo '{"@":"put","queue":"q","jid":"j-r1"}' >&3; `
	for script, kind := range map[string]EndingKind{
		put + `echo '{"@":"ack"}' >&3`:                                             Said,
		put + `echo '{"@":"ack","next":"other"}' >&3`:                              BrokeProtocol,
		strings.Replace(put, "j-r1", "x", 1) + `echo '{"@":"ack","next":"o"}' >&3`: Said,
	} {
		if e, _ := runOnce(t, h, &Spec{Command: shell(script)}, RunLimits{}); e.Kind != kind {
			t.Errorf("%s: %v %s; want %v", script, e.Kind, e.Message, kind)
		}
	}
}

// A script that pastes a text of others between quotes, and so lets it add to its line, does not let it say
// something else; and if the line is no JSON any more, its verdict is not lost in silence.
func TestPastedTexts(t *testing.T) {
	h := newHost(t)
	for _, tt := range []struct {
		name, line, text, after string
		kind                    EndingKind
		refused                 int
	}{
		{"another verb", `{"@":"progress","run":"r1","message":"TEXT"}`, `x","@":"fail","y":"`, "", Exited, 0},
		{"another run", `{"@":"log","run":"r1","message":"TEXT"}`, `x","run":"r2","@":"ack","y":"`, "", Exited, 0},
		{"another line", `{"@":"progress","run":"r1","message":"TEXT"}`, `x"} {"@":"fail","y":"`, "", Exited, 0},
		{"another line, the run last", `{"@":"progress","message":"TEXT","run":"r1"}`, `x"} {"@":"fail","y":"`, "", Exited, 0},
		{"a verdict with another verb", `{"@":"fail","run":"r1","message":"TEXT"}`, `x","@":"ack","y":"`, "", BrokeProtocol, 0},
		{"a quote", `{"@":"fail","run":"r1","message":"TEXT"}`, `she said "no"`, "", BrokeProtocol, 0},
		{"a line feed", `{"@":"fail","run":"r1","message":"TEXT"}`, "one\ntwo", "", BrokeProtocol, 0},
		{"a quote in a put", `{"@":"put","run":"r1","queue":"q","data":"TEXT"}`, `"`, "", BrokeProtocol, 0},
		{"a quote in progress", `{"@":"progress","run":"r1","message":"TEXT"}`, `"`, "", Exited, 0},
		{"dead as it wrote", `{"@":"fail","run":"r1","message":"TEXT`, "x", "kill -9 $$", Died, 1},
		{"escaped", `{"@":"fail","run":"r1","message":"TEXT"}`, `\"} {\"@\":\"ack\",\"x\":\"`, "", Said, 0},
	} {
		for channel, fd := range map[string]string{"stdout": "1", "descriptor": "3"} {
			t.Run(tt.name+", "+channel, func(t *testing.T) {
				lf := "\n"
				if tt.after != "" {
					lf = ""
				}
				line := strings.Replace(tt.line, "TEXT", tt.text, 1)
				e, w := runOnce(t, h, &Spec{Command: append(shell(`printf '%s' "$1" >&`+fd+`; `+tt.after), "sh", line+lf)}, RunLimits{})
				if e.Kind != tt.kind || len(w.refused) != tt.refused || e.Kind == Exited && e.Action != protocol.ExitAck {
					t.Errorf("%v %q: %s, refused %q; want %v", e.Kind, e.Group, e.Message, w.refused, tt.kind)
				}
			})
		}
	}
}

// Texts of others that name runs cost a reused child nothing.
func TestOthersTextsEndNoChild(t *testing.T) {
	h, w := newHost(t), newWitness()
	c := start(t, h, &Spec{Mode: Reuse, Command: shell(`while read -r job; do
		i=0; while [ $i -lt 150 ]; do echo '{"@":"ack","run":"forged"}'; i=$((i+1)); done
		run=${job#*'"run":"'}; echo "{\"@\":\"ack\",\"run\":\"${run%%'"'*}\"}"; done`)}, w)
	for i := range 2 {
		mustRun(t, c, newJob(fmt.Sprint("r", i)), RunLimits{})
		expectEnding(t, await(t, w.endings, "ending"), Said, "")
	}
	if len(w.byes) > 0 {
		t.Errorf("the child is replaced: %q", w.byes)
	}
	c.Shutdown(time.Second)
	await(t, c.Exited(), "exit")
}

// A second word on a job that names no run is none on the next, which was handed over meanwhile and the child has not read.
func TestASecondWordIsNoneOnTheNextJob(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	must(t, unix.Mkfifo(first, 0o600))
	must(t, unix.Mkfifo(second, 0o600))
	h, w := newHost(t), newWitness()
	c := start(t, h, &Spec{Mode: Reuse, Status: StatusLines, Command: shell(`
		read -r job
		read -r go <` + first + `
		printf '%s\n' '{"@":"ack"}' '{"@":"fail","group":"once more"}'
		read -r go <` + second + `
		while read -r job; do echo '{"@":"ack"}'; done`)}, w)
	for _, run := range []string{"r1", "r2"} {
		mustRun(t, c, dataJob(run, `1`), RunLimits{})
	}
	must(t, os.WriteFile(first, []byte("go\n"), 0)) // as soon as the child reads it
	if e := await(t, w.endings, "ending"); e.Kind != Said || e.Verdict.Kind != protocol.Ack {
		t.Errorf("the first: %v %s", e.Kind, e.Message)
	}
	refused := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.refused)
	}
	until(t, "what became of the second word", func() bool { return len(refused()) > 0 || len(w.endings) > 0 })
	must(t, os.WriteFile(second, []byte("go\n"), 0))
	if e := await(t, w.endings, "ending"); e.Kind != Said || e.Verdict.Kind != protocol.Ack {
		t.Errorf("the second: %v %q %s; want its own word", e.Kind, e.Group, e.Message)
	}
	if got := refused(); len(got) != 1 || !strings.HasPrefix(got[0], "fail") {
		t.Errorf("refused %q, want the second word", got)
	}
	c.Shutdown(5 * time.Second)
	await(t, w.exits, "exit")
}

// A child names its runs if it has to, or if it always did.
func TestWhoNamesItsRuns(t *testing.T) {
	const loop, named, nameless = `while read -r job; do run=${job#*\"run\":\"}; run=${run%%\"*}; WORD; done`,
		`echo "{\"@\":\"ack\",\"run\":\"$run\"}"`, `echo '{"@":"ack"}' >&3`
	says := func(word string) string { return strings.Replace(loop, "WORD", word, 1) }
	h := newHost(t)
	for _, tt := range []struct {
		name, script  string
		spec          Spec
		before, after bool
	}{
		{"with each verdict", says(named), Spec{}, false, true},
		{"with none", says(nameless), Spec{}, false, false},
		{"with some", says(`case $job in *'"data":1'*) ` + named + `;; *) ` + nameless + `;; esac`), Spec{}, false, false},
		{"twice, once without", says(nameless + `; ` + named), Spec{}, false, false},
		{"it has said hello", `echo '{"@":"hello","v":[1]}'; read -r hello; ` + says(named), Spec{Hello: HelloRequired}, true, true},
		{"it has to", says(named), Spec{Strict: true}, true, true},
		{"what others wrote does not count", says(`echo '{"@":"ack"}'; ` + named), Spec{}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWitness()
			tt.spec.Mode, tt.spec.Command = Reuse, shell(tt.script)
			c := start(t, h, &tt.spec, w)
			same(t, c.NamesRuns(), tt.before, "%v before its first job")
			for i, run := range []string{"r1", "r2"} {
				mustRun(t, c, dataJob(run, fmt.Sprint(i+1)), RunLimits{})
				await(t, w.endings, "ending")
			}
			c.Shutdown(5 * time.Second)
			await(t, w.exits, "exit") // all that it said was heard
			same(t, c.NamesRuns(), tt.after, "%v after two")
		})
	}
}
