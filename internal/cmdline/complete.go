package cmdline

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"
)

// completing is the first word of a request for what may follow a command line:
//
//	oarlock __complete words WORD… CURRENT   the words as the shell understands them
//	oarlock __complete bash BREAKS LINE      the line up to the cursor, and COMP_WORDBREAKS
//
// The answer is a candidate a line, where we know more with a tab and what it is; the line
// ":files" says that files may stand there.
const completing = "__complete"

// earlier is the last word of the request that scripts of earlier versions make. They may be
// loaded in a shell that is still open: their lines must not be run, either.
const earlier = "--generate-bash-completion"

// Request is a request for what may follow.
type Request struct {
	words   []string // all before the current one, without the program
	current string
	skip    int  // how much of a candidate stands there already, for bash
	bare    bool // commands and options only, as earlier scripts expect it
}

// Asked is the request that args, whose first is the program's name, make; nil if they make none and are to be run.
func Asked(args []string) *Request {
	switch n := len(args); {
	case n >= 2 && args[1] == completing:
		return requestOf(args[2:])
	case n >= 2 && args[n-1] == earlier:
		words := args[1 : n-1]
		if len(words) > 0 && strings.HasPrefix(words[len(words)-1], "-") {
			return &Request{words: words[:len(words)-1], current: words[len(words)-1], bare: true}
		}
		return &Request{words: words, bare: true}
	}
	return nil
}

func requestOf(args []string) *Request {
	switch {
	case len(args) >= 2 && args[0] == "words":
		last := len(args) - 1
		return &Request{words: args[1:last], current: args[last]}
	case len(args) == 3 && args[0] == "bash":
		words, quoted := splitLine(args[2])
		last := len(words) - 1
		c := &Request{current: words[last]}
		if last > 0 {
			c.words = words[1:last]
		}
		if !quoted { // else bash, too, takes the word as one
			c.skip = strings.LastIndexAny(c.current, args[1]) + 1
		}
		return c
	}
	return &Request{bare: true, words: []string{completing}} // nonsense, after which nothing can follow
}

// splitLine gives the words of a line as a shell would, of which it knows blanks, quotes
// and backslashes. It expands nothing. The last word is the one at the cursor, perhaps
// empty; quoted reports that its quote is open.
func splitLine(line string) (words []string, quoted bool) {
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	return append(words, word.String()), quote != 0
}

// LookUp gives the names that exist for a word of a usage, such as QUEUE, behind other words of the same command; global tells the values of the options of all
// commands, and whether they were given. It is asked by Answer, and should not take long.
type LookUp func(ctx context.Context, word string, before []string, global func(option string) (value string, given bool)) []string

// Answer prints what may follow, with the names that lookUp gives. It starts no command.
func (c *Request) Answer(ctx context.Context, app *cli.App, out io.Writer, lookUp LookUp) {
	line, err := takeApart(app, c.words)
	if err != nil {
		return // nothing follows what does not exist
	}
	for _, found := range c.candidates(app, line, func(word string) []string { return lookUp(ctx, word, line.words, line.globalOption) }) {
		name, about, _ := strings.Cut(found, "\t")
		if !strings.HasPrefix(name, c.current) && name != files {
			continue
		}
		if name != files {
			name = name[c.skip:]
		}
		if about != "" && !c.bare {
			name += "\t" + about
		}
		fmt.Fprintln(out, name)
	}
}

// files is the candidate that stands for all files.
const files = ":files"

func (c *Request) candidates(app *cli.App, line commandLine, lookUp func(word string) []string) []string {
	option, _, hasValue := strings.Cut(c.current, "=")
	switch {
	case line.awaits != nil:
		return c.named(line, lookUp, placeholder(line.awaits), "")
	case isOption(c.current) && hasValue && !line.ended:
		flag := FlagNamed(optionsOf(app, line), strings.TrimLeft(option, "-"))
		if flag == nil {
			return nil
		}
		return c.named(line, lookUp, placeholder(flag), option+"=")
	case strings.HasPrefix(c.current, "-") && !line.ended:
		return optionNames(optionsOf(app, line))
	case len(line.below) > 0 && !line.ended:
		return commandNames(line.below)
	case line.command == nil:
		return nil
	case line.command.Name == "help" || line.command.Name == "h":
		return commandNames(app.Commands)
	}
	return c.named(line, lookUp, WordNamed(line.command.ArgsUsage, len(line.words)), "")
}

// named gives the names that can stand for a word of the usage, such as QUEUE, with prefix
// in front of each.
func (c *Request) named(line commandLine, lookUp func(word string) []string, word, prefix string) []string {
	if c.bare {
		return nil
	}
	if word == "JID" && line.path[0] == "recur" {
		return nil // those are no jobs yet
	}
	switch word {
	case "":
		return nil
	case "SHELL":
		return Shells()
	case "FILE", "DIRECTORY", "COMMAND", "ARGUMENT":
		return []string{files}
	}
	var names []string
	for _, name := range lookUp(word) {
		if isPlain(name) {
			names = append(names, prefix+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isPlain reports that no shell takes any part of a name for something else, so that it can
// be put into a line as it is, whoever chose it.
func isPlain(name string) bool {
	for i, r := range name {
		if !(r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r))) && (i == 0 || !strings.ContainsRune("_-.:/@+,", r)) {
			return false
		}
	}
	return name != ""
}

var (
	inBackquotes = regexp.MustCompile("`([A-Z]+)`")
	usageWord    = regexp.MustCompile(`[A-Z]+`)
)

// placeholder is what the usage of an option calls its value; "" if it gives it no name.
func placeholder(flag cli.Flag) string {
	if documented, ok := flag.(cli.DocGenerationFlag); ok {
		if found := inBackquotes.FindStringSubmatch(documented.GetUsage()); found != nil {
			return found[1]
		}
	}
	return ""
}

// WordNamed is what a usage such as "JID [MESSAGE]" or "JID…" calls the word at index i;
// "" if there is none.
func WordNamed(usage string, i int) string {
	for _, other := range strings.Split(usage, " | ") { // the first that goes so far
		if len(usageWord.FindAllString(other, -1)) > i {
			usage = other
			break
		}
	}
	names := usageWord.FindAllString(usage, -1)
	if n := len(names); n > 0 && i >= n && strings.Contains(usage, "…") {
		return names[n-1]
	}
	if i >= len(names) {
		return ""
	}
	return names[i]
}

func optionsOf(app *cli.App, line commandLine) []cli.Flag {
	flags := append(slices.Clone(app.Flags), &cli.BoolFlag{Name: "help", Usage: "show help"})
	if line.command != nil {
		flags = append(flags, line.command.Flags...)
	}
	return flags
}

func optionNames(flags []cli.Flag) (names []string) {
	for _, flag := range flags {
		about := ""
		if documented, ok := flag.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(documented.GetUsage(), "`", "")
		}
		names = append(names, "--"+flag.Names()[0]+"\t"+about)
	}
	return names
}

func commandNames(commands []*cli.Command) (names []string) {
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Name+"\t"+command.Usage)
		}
	}
	return names
}

// globalOption is the value of an option of all commands, and whether it was given.
func (l commandLine) globalOption(name string) (value string, given bool) {
	for _, option := range l.global {
		if is, text, _ := strings.Cut(option, "="); is == "--"+name {
			value, given = text, true
		}
	}
	return value, given
}
