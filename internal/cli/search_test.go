package cli

import (
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	o := newOperator(t)
	o.run("put", "q", `{"file":"cat 1.jpg"}`, "--jid", "a", "--tag", "x")
	o.put("b", "--tag", "x")
	says(t, o.run("search", "a"), `^job +oarlock job show a$`)
	says(t, o.run("search", "x"), `^tag +oarlock tag show x$`)
	says(t, o.run("search", "none"), `^Nothing has that name\.$`)
	says(t, o.run("search", "class:K"), `^Nothing has that name\.$`, `^class: is no term; there are group:, queue:, .*before:\.$`)
	says(t, o.run("search", "tag:x"), `^a `, `^b `, `^2 jobs found; looked at 2 of 2$`)
	found := o.run("search", "tag:x", "text:cat 1")
	says(t, found, `^a `, `^1 job found; looked at 2 of 2$`)
	if strings.Contains(found, "\nb ") {
		t.Errorf("another: %s", found)
	}
	first := o.run("search", "tag:x", "-n", "1")
	says(t, first, `^a `, `^1 job found; looked at 1 of 2$`, `--cursor `)
	_, cursor, _ := strings.Cut(first, "--cursor ")
	says(t, o.run("search", "tag:x", "--cursor", strings.Trim(strings.TrimSpace(cursor), "'")), `^b `)
	says(t, o.run("search", "tag:x", "--json"), `"looked_at": 2`)
	for _, wrong := range [][]string{{"search", "klass:K"}, {"search", "tag:x", "klas:K"}, {"search", "tag:x", "--cursor", "x"}} {
		o.command(append([]string{"exits", "1"}, wrong...))
	}
}
