package top

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key does what a key means now.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.asks != nil:
		return m.answered(name)
	case m.typing:
		m.typed(k)
		return nil
	case m.open != nil:
		if m.open.key(k, m.height) {
			m.open = nil
		}
		return nil
	}
	m.said, m.bad = "", false
	if deed, is := deeds[name]; is {
		return m.ask(deed(m))
	}
	return m.move(name)
}

// move does what moves about and changes nothing.
func (m *model) move(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "1", "2", "3", "4":
		return m.show(page(name[0] - '1'))
	case "a":
		return m.show(pageHosts)
	case "tab":
		m.below = !m.below && m.hasBelow()
	case "enter":
		return m.enter()
	case "esc":
		if !m.below {
			m.filter = ""
		}
		m.below = false
		m.choose()
	case "s":
		m.sort[m.page] = (m.sort[m.page] + 1) % len(sorts[m.page])
	case "/":
		m.typing, m.filter = true, ""
	case "?":
		m.open = &reader{title: "keys", lines: help}
	case "w":
		return m.why()
	case "e":
		return m.words()
	case "l":
		return m.log()
	default:
		return m.step(name)
	}
	return nil
}

// show shows a page.
func (m *model) show(p page) tea.Cmd {
	if m.page != p {
		m.page, m.below, m.filter = p, false, ""
	}
	m.choose()
	return m.lookElsewhere(p)
}

// enter goes into what is chosen: its children or jobs, or why one of these is as it is.
func (m *model) enter() tea.Cmd {
	switch {
	case m.below || m.page == pageQueues || m.page == pageHosts:
		return m.why()
	case m.hasBelow():
		m.below = true
	}
	return nil
}

// hasBelow reports whether the page has a lower part in which there is something.
func (m *model) hasBelow() bool {
	switch m.page {
	case pagePools:
		return len(m.slotNames()) > 0
	case pageFailures:
		return len(m.jobNames()) > 0
	}
	return false
}

// step moves the mark.
func (m *model) step(name string) tea.Cmd {
	by, far := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -10, "pgdown": 10, "home": -1 << 20, "end": 1 << 20}[name], 0
	if by == far {
		return nil
	}
	names, at := m.names(m.page), &m.chosen[m.page]
	if m.below && m.page == pagePools {
		names, at = m.slotNames(), &m.second[0]
	} else if m.below {
		names, at = m.jobNames(), &m.second[1]
	}
	if len(names) == 0 {
		return nil
	}
	*at = names[min(max(indexOf(names, *at)+by, 0), len(names)-1)]
	m.choose()
	if m.page == pageFailures && !m.below && m.world.jobsOf != m.chosen[pageFailures] {
		return m.lookInto()
	}
	return nil
}

// typed takes a key into the filter.
func (m *model) typed(k tea.KeyPressMsg) {
	switch name := k.String(); {
	case name == "enter":
		m.typing = false
	case name == "esc":
		m.typing, m.filter = false, ""
	default:
		m.filter = typedInto(m.filter, k)
	}
	m.choose()
}

// passes reports whether a name has what was typed in it.
func (m *model) passes(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(m.filter))
}

var help = strings.Split(`1 2 3 4        pools, queues, failures, hosts
a              hosts: all supervisors are asked
up down j k    move; pgup pgdown home end too
tab enter esc  into the lower part, and back
s              sort by the next column
/              show only what has these letters in its name
w              why is the job, or what is chosen, so
e              the last words of a failed job
l              what the marked child printed last, and prints: f holds it,
               / finds in it

These ask first, and y does them:
Q              take no more jobs, or take jobs again
+ -            one child more or less for the pool
R              replace the children of the pool by new ones
G              give up the roll of the pool
u              the pool takes no more jobs, or takes jobs again
c              replace the marked child by a new one
x              stop the job of the marked child: it runs again
p              pause a queue, or end its pause
r              retry a failed job, or all of its group

q ^C           leave; nothing but this screen ends
^Z             into the background`, "\n")
