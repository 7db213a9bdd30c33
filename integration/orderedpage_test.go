package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOrderedAsWritten plays docs/ordered.md: jobs of a key stand behind one another, puts merge and say so in the words that stand beside them, and the program packs.
func TestOrderedAsWritten(t *testing.T) {
	p := readPage(t, "ordered.md")
	p.configure("")
	jids := strings.Fields(p.shell(p.block("sh", `{"pay": 1}`)))
	if len(jids) != 2 {
		t.Fatalf("two puts print %q", jids)
	}
	for typed, says := range map[string]string{
		"oarlock key show orders customer-17": jids[1], "oarlock key ls orders": "customer-17", "oarlock job why " + jids[1]: jids[0],
		`oarlock put orders --key-from /customer '{"customer": 17}' && oarlock key show orders 17`: "17",
	} {
		if said := p.shell(typed); !strings.Contains(said, says) {
			t.Errorf("%s says\n%s\nwithout %s", typed, said, says)
		}
	}

	p.db.FlushDB(t.Context())
	for typed := range strings.Lines(p.block("sh", `--merge set`)) {
		_, says, _ := strings.Cut(strings.TrimSpace(typed), " # ")
		if said := p.shell(typed); !strings.Contains(said, says) {
			t.Errorf("%s prints\n%s", typed, said)
		}
	}

	settings, merges := p.block("toml", "after_fail"), p.block("toml", "run_payloads")
	for _, text := range []string{settings, merges} {
		p.configure(text + works(`"orders"`))
		p.shell("oarlock check && oarlock rules apply --force")
	}

	p.db.FlushDB(t.Context())
	p.db.HSet(t.Context(), "ql:oarlock:tended", "rules-since", 1)
	copyFile(t, "../examples/python/oarlock.py", filepath.Join(p.dir, "oarlock.py"))
	p.file("pack.py", "import oarlock\nPARCELS = \"parcels\"\n"+p.block("python", "def pack")+"oarlock.serve()\n")
	p.configure(merges + "[pools.pack]\nqueues = [\"orders\"]\nmode = \"reuse\"\nchildren = 1\ncommand = [\"python3\", \"pack.py\"]\n")
	p.shell("oarlock rules apply --force")
	for _, order := range []string{`{"count":2,"item":"tea"}`, `{"count":1,"item":"cup"}`, `{"count":2,"item":"tea"}`} {
		p.shell("oarlock put orders --klass Order --key ann '" + order + "'")
	}
	p.run()
	until(t, "it is packed", func() bool { return p.db.ZCard(t.Context(), "ql:completed").Val() == 1 })
	if parcels := p.shell("cat parcels"); parcels != "ann: 2 tea, 1 cup\n" {
		t.Errorf("packed is %q", parcels)
	}
}
