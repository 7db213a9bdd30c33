package top

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// opening opens a reader when what it shows is there.
func (m *model) opening(r *reader) tea.Cmd {
	if m.doing != "" {
		return nil
	}
	m.doing = r.title
	return m.asking(func(ctx context.Context) tea.Msg {
		lines, err := r.again(ctx)
		if err != nil {
			lines = []string{err.Error()}
		}
		return read{r, lines}
	})
}

// follow asks for what an open reader shows, if it follows and nothing is under way.
func (m *model) follow() tea.Cmd {
	r := m.open
	if r == nil || !r.follows || r.asking {
		return nil
	}
	r.asking = true
	return m.asking(func(ctx context.Context) tea.Msg {
		lines, err := r.again(ctx)
		return reread{r, lines, err}
	})
}

// reader is a text that is read until it is closed.
type reader struct {
	title string
	lines []string
	from  int

	again   func(ctx context.Context) ([]string, error) // asks for the lines; nil of what does not change
	follows bool                                        // it is asked again at each tick
	asking  bool
	wrong   string // why it could not be asked last; "" if it could

	find   string // only lines that have this in them
	typing bool
}

// heard takes in what was asked again. Who reads further down stays with the lines that are read.
func (r *reader) heard(lines []string, err error) {
	r.asking = false
	if r.wrong = ""; err != nil {
		r.wrong = err.Error()
		return
	}
	if !r.follows { // it was held meanwhile
		return
	}
	if r.from > 0 && len(r.lines) > 0 {
		for i := range lines {
			if lines[i] == r.lines[0] {
				r.from += i
				break
			}
		}
	}
	r.lines = lines
	r.from = max(min(r.from, len(r.shown())-1), 0)
}

// shown are the lines that are to be seen.
func (r *reader) shown() []string {
	if r.find == "" {
		return r.lines
	}
	var found []string
	for _, line := range r.lines {
		if strings.Contains(strings.ToLower(line), strings.ToLower(r.find)) {
			found = append(found, line)
		}
	}
	return found
}

// heading is the title, and how the text is read.
func (r *reader) heading() string {
	text := r.title
	if r.again != nil && r.follows {
		text += " · follows: f holds"
	} else if r.again != nil {
		text += " · held: f follows"
	}
	switch {
	case r.typing:
		text += " · /" + r.find + "▏"
	case r.find != "":
		text += fmt.Sprintf(" · /%s: %d of %d lines", r.find, len(r.shown()), len(r.lines))
	default:
		text += " · / finds"
	}
	if r.wrong != "" {
		text += " · ▲ " + r.wrong
	}
	return text
}

// key moves in the text, or closes it.
func (r *reader) key(k tea.KeyPressMsg, height int) (close bool) {
	name := k.String()
	if r.typing {
		r.typed(k)
		return false
	}
	switch name {
	case "up", "k":
		r.from--
	case "down", "j":
		r.from++
	case "pgup":
		r.from -= height - 4
	case "pgdown", "space":
		r.from += height - 4
	case "home":
		r.from = 0
	case "end":
		r.from = len(r.shown())
	case "f":
		r.follows = !r.follows && r.again != nil
	case "/":
		r.typing, r.find, r.from = true, "", 0
	case "esc":
		if r.find == "" {
			return true
		}
		r.find = ""
	case "q", "enter", "w", "e", "l", "?":
		return true
	}
	r.from = max(min(r.from, len(r.shown())-1), 0)
	return false
}

// typed takes a key into what is looked for.
func (r *reader) typed(k tea.KeyPressMsg) {
	switch name := k.String(); {
	case name == "enter":
		r.typing = false
	case name == "esc":
		r.typing, r.find = false, ""
	default:
		r.find = typedInto(r.find, k)
	}
	r.from = 0
}

// typedInto is a text with a key more, or a letter less.
func typedInto(text string, k tea.KeyPressMsg) string {
	switch {
	case k.String() == "backspace":
		if runes := []rune(text); len(runes) > 0 {
			return string(runes[:len(runes)-1])
		}
	case k.Text != "" && len(text) < 100:
		return text + k.Text
	}
	return text
}
