package runner

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
)

func told(o *Output) (lines []string) {
	for stream, text := range o.Lines() {
		lines = append(lines, stream.String()+" "+string(text))
	}
	return lines
}

func TestATranscriptKeepsTheLastLines(t *testing.T) {
	k := newTranscript(1 << 10)
	k.line(Stdout, []byte("one"))
	k.line(Stderr, nil)
	k.add(&LogLine{Record: &protocol.LogRecord{Level: "warn", Message: "a\nb", Fields: []protocol.Field{{Name: "n", Value: []byte("1")}}}})
	out := k.take()
	if got, want := strings.Join(told(out), "|"), `stdout one|stderr |status warn: a\nb n=1`; got != want || out.Lost != 0 {
		t.Errorf("%q, %d lost; want %q", got, out.Lost, want)
	}
	if out = k.take(); out.Size() != 0 || len(told(out)) != 0 {
		t.Errorf("taken twice: %q", told(out))
	}

	written := 0
	for i := range 10_000 {
		text := fmt.Appendf(nil, "line %d", i)
		k.line(Stdout, text)
		written += len(text) + lineExtra
	}
	out = k.take()
	lines := told(out)
	if out.Size() > 1<<10 || out.Size() < 1000 || lines[len(lines)-1] != "stdout line 9999" || !strings.HasPrefix(lines[0], "stdout line ") {
		t.Errorf("%d bytes, from %q to %q", out.Size(), lines[0], lines[len(lines)-1])
	}
	if all := int(out.Lost) + out.Size(); all > written || all < written-20-lineExtra { // but for a part of a line

		t.Errorf("%d bytes lost and %d kept of %d", out.Lost, out.Size(), written)
	}
}

// Of a line that is larger than all that is kept, the end is.
func TestATranscriptOfOneLongLine(t *testing.T) {
	for _, more := range []int{-3, -2, -1, 0, 1, 5000} {
		k := newTranscript(1 << 10)
		k.line(Stdout, []byte("before"))
		k.line(Stderr, append(bytes.Repeat([]byte("x"), 1<<10+more), '!'))
		lines := told(k.take())
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "stderr x") || !strings.HasSuffix(last, "x!") || len(last) < 1000 {
			t.Errorf("%d: %d lines, the last of %d bytes: %.20q", more, len(lines), len(last), last)
		}
	}
}

// A flood on one stream leaves half of the room to the other, and lines stay in the order in which
// they came.
func TestATranscriptOfTwoStreams(t *testing.T) {
	k := newTranscript(2 << 10)
	k.line(Stderr, []byte("the trouble"))
	for i := range 1000 {
		k.line(Stdout, fmt.Appendf(nil, "flood %d", i))
	}
	lines := told(k.take())
	if lines[0] != "stderr the trouble" || lines[len(lines)-1] != "stdout flood 999" || len(lines) < 100 {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	for i := range 1000 {
		k.line(Stream(i%2), fmt.Appendf(nil, "%d", i))
	}
	out := k.take()
	lines = told(out)
	for i, line := range lines {
		if want := fmt.Sprintf("%v %d", Stream(i%2), 1000-len(lines)+i); len(lines)%2 == 0 && line != want {
			t.Errorf("line %d is %q, want %q", i, line, want)
		}
	}
	if out.Size() > 2<<10 || len(lines) < 150 {
		t.Errorf("%d lines of %d bytes", len(lines), out.Size())
	}
}

// What is not asked for costs nothing.
func TestNoTranscript(t *testing.T) {
	var k *transcript = newTranscript(0)
	if n := testing.AllocsPerRun(100, func() { k.add(&LogLine{Text: []byte("x")}) }); k.take() != nil || n != 0 {
		t.Errorf("%v allocations; %v", n, k.take())
	}
}

// Each ending brings what was printed during its run, of those that ended well too, however much
// of it the log dropped.
func TestEndingsBringWhatWasPrinted(t *testing.T) {
	h := newHost(t)
	spec := &Spec{KeepOutput: 4 << 10, LogRate: 5, Command: shell(`i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; echo oops >&2`)}
	e, _ := runOnce(t, h, spec, RunLimits{})
	lines := strings.Join(told(e.Output), "|")
	if !strings.Contains(lines, "stdout line 1998|stdout line 1999") || !strings.Contains(lines, "stderr oops") || e.Output.Lost < 10_000 {
		t.Errorf("%d lost, kept %q", e.Output.Lost, lines)
	}

	w := newWitness()
	c := start(t, h, &Spec{Mode: Reuse, KeepOutput: 4 << 10, Command: shell(
		`while read -r line; do run=${line#*\"run\":\"}; run=${run%%\"*}; echo "working on $run"; echo "{\"@\":\"ack\",\"run\":\"$run\"}"; done`)}, w)
	for _, run := range []string{"a", "b"} {
		e := endOf(t, c, w, newJob(run), RunLimits{})
		if got := told(e.Output); len(got) != 1 || got[0] != "stdout working on "+run {
			t.Errorf("run %s printed %q", run, got)
		}
	}
	c.Shutdown(5 * time.Second)
	await(t, c.Exited(), "exit")
	if e, _ := runOnce(t, h, &Spec{Command: shell("echo x")}, RunLimits{}); e.Output != nil {
		t.Error("nobody asked for it")
	}
}

// Very much is read to its end, and the last of it is kept: in the long run a gigabyte.
func TestAJobThatPrintsAGigabyte(t *testing.T) {
	size := int64(scaled(4<<20, 1<<30))
	e, _ := runOnce(t, newHost(t), &Spec{KeepOutput: 64 << 10, LogRate: 1000, Command: shell(fmt.Sprintf("yes 0123456789abcdef | head -c %d; echo; echo end", size))}, RunLimits{})
	lines := told(e.Output)
	if lines[len(lines)-1] != "stdout end" || e.Output.Size() > 64<<10 || e.Output.Lost < size {
		t.Errorf("%d lost, %d kept, the last %q", e.Output.Lost, e.Output.Size(), lines[len(lines)-1])
	}
}
