package packaging_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// TestRulesAreGood: Prometheus reads the rules, each alert fires in its world, and is silent in one that comes near.
func TestRulesAreGood(t *testing.T) {
	must.Have(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "prometheus/rules.yml"}, {"test", "rules", "prometheus/rules_test.yml", "prometheus/rules_day_test.yml"}} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestEachAlertIsTried: each alert has a world in which it fires and one in which it does not, and stands in the document for
// whoever it wakes.
func TestEachAlertIsTried(t *testing.T) {
	worlds := read(t, "prometheus/rules_test.yml") + read(t, "prometheus/rules_day_test.yml")
	operating := read(t, "../docs/operating.md")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "prometheus/rules.yml"), -1)
	if len(alerts) < 16 {
		t.Errorf("there are %d alerts", len(alerts))
	}
	for _, alert := range alerts {
		name := alert[1]
		if !strings.Contains(worlds, "alertname: "+name+"\n        exp_alerts:\n          - ") {
			t.Errorf("nothing shows that %s fires", name)
		}
		if !strings.Contains(worlds, "alertname: "+name+", exp_alerts: []") {
			t.Errorf("nothing shows that %s is silent", name)
		}
		if !strings.Contains(operating, "| `"+name+"` |") {
			t.Errorf("docs/operating.md does not say what %s means", name)
		}
	}
}

// dashboard is what of Grafana's file says what is asked.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct{ List []struct{ Definition string } }
}

// asked are all expressions of the dashboard, as Prometheus would see them.
func asked(t *testing.T) (exprs []string) {
	t.Helper()
	var d dashboard
	must.Do(t, json.Unmarshal([]byte(read(t, "grafana/oarlock.json")), &d))
	filled := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$pool", ".*", "$queue", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, filled.Replace(target.Expr))
		}
	}
	if len(exprs) < 20 {
		t.Errorf("the dashboard asks %d things", len(exprs))
	}
	return exprs
}

// TestTheDashboardIsGood: Prometheus understands all that it asks.
func TestTheDashboardIsGood(t *testing.T) {
	must.Have(t, "promtool")
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for n, expr := range asked(t) {
		quoted, _ := json.Marshal(expr)
		fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %s\n", n, quoted)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	must.Do(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	if out, err := exec.Command("promtool", "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNamesExist: every metric that a rule or the dashboard names is one that is told, with the labels that it has.
func TestNamesExist(t *testing.T) {
	known := map[string]string{} // the labels by name
	for _, row := range regexp.MustCompile("(?m)^\\| `(oarlock_\\w+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(read(t, "../docs/metrics.md"), -1) {
		names := []string{row[1]}
		switch row[2] {
		case "histogram":
			names = []string{row[1] + "_bucket", row[1] + "_sum", row[1] + "_count"}
		case "summary":
			names = []string{row[1] + "_sum", row[1] + "_count"}
		}
		for _, name := range names {
			known[name] = row[3] + ", instance, job, le"
		}
	}
	recorded := map[string]bool{}
	for _, rule := range regexp.MustCompile(`- record: (\S+)`).FindAllStringSubmatch(read(t, "prometheus/rules.yml"), -1) {
		recorded[rule[1]] = true
	}
	text := read(t, "prometheus/rules.yml") + read(t, "prometheus/rules_test.yml") + read(t, "prometheus/rules_day_test.yml") +
		strings.Join(asked(t), "\n") + read(t, "grafana/oarlock.json")
	seen := 0
	for _, use := range regexp.MustCompile(`\b(oarlock[_:][a-z0-9_:]+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(text, -1) {
		seen++
		name := use[1]
		if strings.Contains(name, ":") {
			if !recorded[name] {
				t.Errorf("no rule records %s", name)
			}
			continue
		}
		labels, is := known[name]
		if !is {
			t.Errorf("there is no metric %s", name)
			continue
		}
		for _, label := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(use[2], -1) {
			if !strings.Contains(", "+labels+",", ", "+label[1]+",") {
				t.Errorf("%s has no label %s", name, label[1])
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d names were found", seen)
	}
}
