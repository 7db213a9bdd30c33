package cli

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
)

const (
	helpWidth = 80 // as a terminal usually is
	fullLine  = 60 // columns of a line with which the one below makes a paragraph, at the least
)

func init() { cli.HelpPrinter = printHelp }

// printHelp writes a help. What is too long for a line goes on below, under where it began to tell of an option or a command.
func printHelp(w io.Writer, template string, data any) {
	var text bytes.Buffer
	cli.HelpPrinterCustom(&text, template, data, nil)
	width := helpWidth
	if terminal := screen.Width(w); terminal > 0 {
		width = min(width, terminal)
	}
	for _, part := range helpParts(strings.Split(strings.TrimRight(text.String(), "\n"), "\n")) {
		for _, line := range part.lines(width) {
			screen.PrintLine(w, line)
		}
	}
}

// helpPart is a paragraph of a help, or what it tells of an option or a command.
type helpPart struct {
	name string // of that, with the blanks before it and behind; of a paragraph the blanks
	text string
}

var (
	named = regexp.MustCompile(`^( *\S+(?: \S+)*) {2,}(\S.*)$`)
	again = regexp.MustCompile(` \[ --.* \]$`) // an option that may be given again has its names twice
)

// helpParts are the parts of a help, in which names that stand below each other take what the longest needs.
func helpParts(lines []string) (parts []helpPart) {
	first := 0 // of those whose names stand below each other
	align := func() {
		longest := 0
		for _, part := range parts[first:] {
			longest = max(longest, utf8.RuneCountInString(part.name))
		}
		for i := range parts[first:] {
			part := &parts[first+i]
			part.name += strings.Repeat(" ", longest+2-utf8.RuneCountInString(part.name))
		}
		first = len(parts)
	}
	for i, line := range lines {
		if match := named.FindStringSubmatch(line); match != nil {
			parts = append(parts, helpPart{again.ReplaceAllString(match[1], ""), match[2]})
			continue
		}
		align()
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		if last := len(parts) - 1; i > 0 && len(lines[i-1]) >= fullLine && text != "" && parts[last].name == indent {
			parts[last].text += " " + text
		} else {
			parts = append(parts, helpPart{indent, text})
		}
		first = len(parts)
	}
	align()
	return parts
}

// lines are a part with its words on lines of that width; where a name takes more than half of it, what is told of it begins below.
func (p helpPart) lines(width int) (lines []string) {
	line, indent := p.name, utf8.RuneCountInString(p.name)
	long := indent
	if indent > width/2 {
		lines = append(lines, strings.TrimRight(p.name, " "))
		indent = len(p.name) - len(strings.TrimLeft(p.name, " ")) + 4
		line, long = strings.Repeat(" ", indent), indent
	}
	for i, word := range strings.Fields(p.text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case long+1+n > width:
			lines = append(lines, line)
			line, long = strings.Repeat(" ", indent), indent
		default:
			line, long = line+" ", long+1
		}
		line, long = line+word, long+n
	}
	return append(lines, strings.TrimRight(line, " "))
}
