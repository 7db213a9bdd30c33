package screen

import (
	"bufio"
	"strings"
	"testing"

	"oarlock/internal/must"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// onTerminal is what a terminal of that many columns is sent.
func onTerminal(t *testing.T, columns int, print func(w *Out)) (lines []string) {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	must.Do(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: uint16(columns)}))
	go func() {
		out := NewOut(theirs)
		print(out)
		PrintLine(out, "the end")
	}()
	for text := bufio.NewScanner(ours); text.Scan(); {
		if text.Text() == "the end" {
			return lines
		}
		lines = append(lines, strings.TrimRight(text.Text(), " "))
	}
	t.Fatal("the terminal was closed")
	return nil
}

// A table fits the terminal, and loses nothing for that.
func TestTableFitsTheTerminal(t *testing.T) {
	heading := []string{"JID", "STATE", "MESSAGE"}
	rows := [][]string{{"j1", "failed", "cannot open the file cat.jpg: it is not there"}, {"j2", "waiting", ""}}
	wide := []string{"JID  STATE    MESSAGE", "j1   failed   cannot open the file cat.jpg: it is not there", "j2   waiting"}
	for _, tt := range []struct {
		columns int
		want    []string
	}{
		{200, wide},
		{60, wide},
		{40, []string{"JID  STATE    MESSAGE", "j1   failed   cannot open the file", "              cat.jpg: it is not there", "j2   waiting"}},
		{30, []string{"JID      j1", "STATE    failed", "MESSAGE  cannot open the file", "         cat.jpg: it is not", "         there", "", "JID      j2", "STATE    waiting"}},
	} {
		got := onTerminal(t, tt.columns, func(w *Out) { Table(w, "", heading, rows) })
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("on %d columns:\n%s", tt.columns, strings.Join(got, "\n"))
		}
		for _, line := range got {
			if ansi.StringWidth(line) > tt.columns {
				t.Errorf("on %d columns: %q is too long", tt.columns, line)
			}
		}
	}
	var file strings.Builder
	Table(&file, "", heading, rows)
	if file.String() != strings.Join(wide, "\n")+"  \n" {
		t.Errorf("elsewhere:\n%s", file.String())
	}
}
