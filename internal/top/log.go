package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"oarlock/internal/rollcall"
)

// log opens what the child that is marked printed last, and follows it.
func (m *model) log() tea.Cmd {
	p, s := m.pool(), m.slot()
	if m.page != pagePools || !m.below || s == nil {
		m.said, m.bad = onChildren, true
		return nil
	}
	of, pool, slot := rollcall.Who{Name: m.world.status.Name, PID: m.world.status.PID}, p.Name, s.Slot
	ask := func(ctx context.Context) ([]string, error) {
		lines, err := m.o.Source.Log(ctx, of, pool, slot)
		return logLines(lines), err
	}
	title := fmt.Sprintf("what slot %d of %s printed last", slot, pool)
	return m.opening(&reader{title: title, again: ask, follows: true})
}

// logLines are lines as they are shown, the newest first: it is what one came for.
func logLines(lines []rollcall.Line) []string {
	text := make([]string, len(lines))
	for i, l := range lines {
		at := time.UnixMilli(int64(l.At * 1e3)).Format("15:04:05")
		text[len(lines)-1-i] = strings.Join(strings.Fields(at+" "+l.Level+" "+shortJID(l.JID)), " ") + "  " + l.Text
	}
	return text
}
