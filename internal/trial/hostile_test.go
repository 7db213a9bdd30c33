package trial

import (
	"bytes"
	"testing"

	"oarlock/internal/screen"
	"oarlock/internal/screentest"
	"oarlock/protocol"
	"oarlock/runner"
)

// Whatever a program says is shown, and obeyed by no terminal.
func TestHostileTextsOfAProgram(t *testing.T) {
	const hostile = screentest.Hostile
	var out bytes.Buffer
	for _, f := range []Finding{{Left: true}, {Kept: true}, {Must: true}, {}} {
		f.Rule, f.Why = hostile, hostile
		f.Print(&out)
	}
	talk := conversation{w: &out}
	talk.Log(nil, nil, runner.LogLine{Text: []byte(hostile), Refused: hostile})
	talk.Log(nil, nil, runner.LogLine{Record: &protocol.LogRecord{Level: hostile, Message: hostile}})
	talk.Progress(nil, nil, protocol.Progress{Message: hostile})
	talk.Bye(nil, hostile)
	talk.say(screen.Red, "<", verdictLine(&protocol.Verdict{Kind: protocol.Fail, Group: hostile, Message: hostile, Klass: hostile}))
	screentest.Clean(t, "a trial", out.String())
}
