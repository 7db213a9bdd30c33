package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// plainText is a line without colours.
func plainText(line string) string { return ansi.Strip(line) }

// wrapped is a text of others on lines of so many columns.
func wrapped(text string, columns int) []string {
	return strings.Split(ansi.Hardwrap(strings.ReplaceAll(screen.Visible(text), "\t", "    "), max(columns, 1), true), "\n")
}

// poolTrouble is what is wrong with a pool, in sentences.
func poolTrouble(p *supervisor.PoolSnapshot) (told []string) {
	if p.Barren != "" {
		told = append(told, "▲ "+p.Name+" takes nothing: "+p.Barren)
	}
	if p.Breaker != "" {
		text := fmt.Sprintf("▲ %s goes slowly for %s, one job at a time, ten a second: %s", p.Name, screen.Seconds(p.BreakerFor), p.Breaker)
		if p.NextProbe >= 1 {
			text += "; the next job in " + screen.Seconds(p.NextProbe)
		}
		told = append(told, text)
	}
	if g := p.GivenUp; g != nil {
		told = append(told, fmt.Sprintf("▲ generation %d of %s was given up %s ago: %s", g.Generation, p.Name, screen.Seconds(g.Ago), g.Message))
	}
	for _, damage := range p.Damaged {
		told = append(told, "▲ "+p.Name+" leaves out "+damage)
	}
	return told
}

// explained tells of what is chosen, where that is no job.
func (m *model) explained() *reader {
	switch m.page {
	case pagePools:
		if p := m.pool(); p != nil {
			return &reader{title: "pool " + p.Name, lines: poolStory(p)}
		}
	case pageQueues:
		for _, q := range m.world.queues {
			if q.Name == m.chosen[pageQueues] {
				lines := []string{"`oarlock queue show " + screen.InShell(q.Name) + "` lists its jobs by state, `queue peek` those that come next."}
				if q.Paused {
					lines = append(lines, "It is paused: no supervisor takes jobs from it. p ends that.")
				}
				if q.Unserved > 0 {
					lines = append(lines, "None of it runs, and the next job waits for "+screen.Seconds(q.Unserved)+": does a pool work it?")
				}
				return &reader{title: "queue " + q.Name, lines: lines}
			}
		}
	case pageHosts:
		for _, a := range m.hosts() {
			if hostName(a) != m.chosen[pageHosts] {
				continue
			}
			var lines []string
			if a.Status.Abstains != "" {
				lines = append(lines, "▲ It "+a.Status.AbstainsWords(), "")
			}
			for i := range a.Status.Pools {
				lines = append(append(lines, poolStory(&a.Status.Pools[i])...), "")
			}
			if a.Cut {
				lines = append(lines, "It has more children than can be told over Redis.")
			}
			return &reader{title: "supervisor " + a.Status.Name + " on " + a.Host, lines: lines}
		}
	}
	return &reader{title: "nothing", lines: []string{"Nothing is chosen."}}
}

// poolStory is a pool in sentences.
func poolStory(p *supervisor.PoolSnapshot) []string {
	n := p.Counters
	lines := []string{
		fmt.Sprintf("Pool %s, mode %s, works %s with %d children (%d to %d), %d busy.", p.Name, p.Mode, p.Works(), p.Children, p.Least, p.Most, busy(p)),
		fmt.Sprintf("Since it began: done %s, retried %s, failed %s, crashed %s, timed out %s, interrupted %s, given back %s.", screen.Count(n.Acked), screen.Count(n.Retried),
			screen.Count(n.Failed), screen.Count(n.Crashed), screen.Count(n.TimedOut), screen.Count(n.Interrupted), screen.Count(n.Released)),
	}
	if r := p.Roll; r != nil {
		text := fmt.Sprintf("It rolls from generation %d to %d: %d of %d slots.", r.From, r.To, r.Changed, r.Of)
		if r.OnTrial {
			text += fmt.Sprintf(" The new one is on trial: %d attempts, %d ended badly.", r.Ended, r.Bad)
		}
		if r.JID != "" {
			text += fmt.Sprintf(" Slot %d waits for job %s, %s old.", r.Slot, r.JID, screen.Seconds(r.Waits))
		}
		lines = append(lines, text)
	}
	for _, r := range p.LastRolls {
		text := fmt.Sprintf("%s ago, a roll from generation %d to %d, which took %s: %s", screen.Seconds(r.Ago), r.From, r.To, screen.Seconds(r.Took), strings.ReplaceAll(r.Result, "_", " "))
		if r.Message != "" {
			text += ": " + r.Message
		}
		lines = append(lines, text)
	}
	if p.Abstains != "" {
		lines = append(lines, "▲ It takes nothing: "+p.Abstains)
	}
	return append(lines, poolTrouble(p)...)
}
