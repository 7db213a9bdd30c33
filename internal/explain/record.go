package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// Record is what a record of an attempt that did not end well says, in sentences: who ran it and for how long,
// how far it came, how it ended and by whose hand. They may have several lines.
func Record(r supervisor.Record) []string {
	wall, cpu := time.Duration(r.WallMS)*time.Millisecond, time.Duration(r.CPUMS)*time.Millisecond
	told := []string{fmt.Sprintf("Attempt %d ran for %s, until %s, on %s%s.",
		r.Attempt, screen.Span(wall), r.At.Local().Format("2006-01-02 15:04:05"), r.Worker, pidText(r.PID))}
	if far := progressText(r.Percent, r.Progress); far != "" {
		told = append(told, fmt.Sprintf("It came as far as: %s.", far))
	}
	told = append(told, endingStory(r))
	if r.OOM != "" {
		told = append(told, fmt.Sprintf("It ran out of memory: %s.", r.OOM))
	}
	if r.Group == "" && r.Message != "" {
		told = append(told, fmt.Sprintf("Its reason: %s", r.Message))
	} else if r.Message != "" {
		told = append(told, fmt.Sprintf("That counts as %s: %s", r.Group, r.Message))
	} else if r.Group != "" {
		told = append(told, fmt.Sprintf("That counts as %s.", r.Group))
	}
	used := fmt.Sprintf("It used %s of processor time", screen.Span(cpu))
	if r.PeakMemory > 0 {
		used += fmt.Sprintf(" and, when it was seen to use most, %s of memory", humanize.IBytes(uint64(r.PeakMemory)))
	}
	told = append(told, used+".")
	if r.Dir != "" {
		told = append(told, fmt.Sprintf("Its directory was kept: %s", r.Dir))
	}
	return told
}

// endingStory says how an attempt ended, and by whose hand.
func endingStory(r supervisor.Record) string {
	sent := ", which nobody here had sent"
	if r.SentBy != "" {
		sent = ", after we had stopped it (" + strings.ReplaceAll(r.SentBy, "_", " ") + ")"
	}
	switch {
	case r.Verdict != "":
		return fmt.Sprintf("It said %s.", r.Verdict)
	case r.Signal != "":
		return fmt.Sprintf("It was ended by %s%s.", r.Signal, sent)
	case r.ExitCode != nil && r.SentBy != "":
		return fmt.Sprintf("It left with exit code %d%s.", *r.ExitCode, sent)
	case r.ExitCode != nil:
		return fmt.Sprintf("It left with exit code %d%s.", *r.ExitCode, asAShell(*r.ExitCode))
	case r.Ending == "could-not-start":
		return "It could not be started."
	case r.Ending == "broke-protocol":
		return "It broke the protocol, and was replaced."
	case r.SentBy != "":
		return fmt.Sprintf("We stopped it (%s).", strings.ReplaceAll(r.SentBy, "_", " "))
	}
	return "It left without a verdict."
}

// shellCodes are the exit codes with which a shell says that it could not run a command: what it does then, and what to look at.
var shellCodes = map[int][2]string{
	126: {"finds a command and may not run it", "is it executable, and made for this kind of host?"},
	127: {"does not find a command", "is it installed, and in the PATH that children have?"},
}

// asAShell tells, behind an exit code, that it is one of those; "" of others.
func asAShell(code int) string {
	if words, is := shellCodes[code]; is {
		return ", as a shell does that " + words[0]
	}
	return ""
}

// shellWords tell the same by the group of a failure, and what to look at.
func shellWords(group string) string {
	for code, words := range shellCodes {
		if group == fmt.Sprintf("exit-%d", code) {
			return fmt.Sprintf("Its program left with exit code %d%s: %s", code, asAShell(code), words[1])
		}
	}
	return ""
}

func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// progressText is how far an attempt came.
func progressText(percent *float64, message string) string {
	if percent == nil {
		return message
	}
	return strings.TrimSpace(fmt.Sprintf("%.0f%% %s", *percent, message))
}
