package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What a form says is what its button does: the file's rules are applied and taken away again, a limit that was set by hand is as the rules
// say again, and entries are put back, pushed, and deleted only by who checks the box.
func TestDeedsOnRulesAndLists(t *testing.T) {
	a, q := browsed(t)
	g, ctx := as(t, "write"), t.Context()
	sees := func(path string, texts ...string) {
		t.Helper()
		code, page, _ := g.browse(a, "GET", path, "")
		for _, text := range texts {
			if code != http.StatusOK || !strings.Contains(page, text) {
				t.Errorf("%s: %d, and no %q: %s", path, code, text, mainOf(page))
			}
		}
	}
	does := func(path, form string, want int) {
		t.Helper()
		if code, page, _ := g.browse(a, "POST", path, form); code != want {
			t.Errorf("%s with %s: %d, want %d: %s", path, form, code, want, mainOf(page))
		}
	}
	sees("/rules", "The file of this supervisor says otherwise", "web1:", "Night*")
	sees("/rules/apply", "throttles.erp would be added", "whatever the files of others say")
	does("/rules/apply", "", http.StatusSeeOther)
	sees("/rules", `href="/throttles/erp"`)
	sees("/rules/remove?rule=throttles.erp", "It says: ")
	does("/rules/remove", "rule="+url.QueryEscape("throttles.erp"), http.StatusSeeOther)
	does("/rules/remove", "rule="+url.QueryEscape("throttles.erp"), http.StatusNotFound)
	does("/rules/remove", "", http.StatusBadRequest)
	sees("/rules", "throttles.erp would be added")

	sees("/throttles/region", "Parts, by /region", "all others")
	sees("/throttles/one", "Waitlists", "It starts 100 in 10 s at most, which lets ")
	does("/throttles/one", "maximum=7", http.StatusSeeOther)
	sees("/throttles/one", "As the rules say", "the rules say that it lets 1 job run at a time")
	does("/throttles/one/unset", "", http.StatusSeeOther)
	if limit, err := q.RuledLimit(ctx, "one"); err != nil || limit.ByHand || limit.Maximum != 1 {
		t.Errorf("it is %+v, %v", limit, err)
	}
	does("/throttles/api/unset", "", http.StatusNotFound)

	pics := "/lists/hworker:pics"
	sees(pics+"?part=failed", `[&#34;c&#34;,{&#34;n&#34;:3}]`)
	sees(pics+"/retry", "1 that failed and 1 that are broken")
	does(pics+"/retry", "", http.StatusSeeOther)
	does(pics+"/push", "data=no+JSON", http.StatusBadRequest)
	does(pics+"/push", "data=", http.StatusBadRequest)
	does(pics+"/push", "data=%7B%22n%22%3A5%7D", http.StatusSeeOther)
	if n, err := q.CountLists(ctx, []string{"hworker:pics"}); err != nil || n[0].Waiting != 5 || n[0].Failed+n[0].Broken != 0 {
		t.Errorf("it has %+v, %v", n, err)
	}
	sees(pics+"/destroy", "5 waiting, 1 in work")
	does(pics+"/destroy", "", http.StatusBadRequest)
	does(pics+"/destroy", "sure=1", http.StatusSeeOther)
	does(pics+"/destroy", "sure=1", http.StatusNotFound)
}

// The form asks for all that a job may say itself, and what is wrong with that is said beside it.
func TestExplainWhatAJobSaysItself(t *testing.T) {
	a, _ := browsed(t)
	g := as(t, "read")
	for _, tt := range []struct {
		query, says string
		wrong       bool
	}{
		{"weight=3", "It needs 3 places of each throttle below.", false},
		{"weight=3", `name="weight" value="3"`, false},
		{"bypass=1", "It takes no places: it passes them by.", false},
		{"bypass=1", `value="1" checked`, false},
		{"window=05:00-07:00%3B+12:00-13:00&zone=Asia/Tokyo", " JST", false},
		{"window=05:00-07:00&zone=Asia/Tokyo", `name="zone" value="Asia/Tokyo"`, false},
		{"weight=0", "The weight must be from 1 to 100, and is 0.", true},
		{"weight=101", "100", true},
		{"weight=much", "The weight must be from 1 to 100", true},
		{"window=nowhere", "nowhere", true},
		{"window=25:00-26:00", "is no time of a day", true},
		{"window=05:00-07:00&zone=Atlantis", "Atlantis", true},
	} {
		code, page, _ := g.browse(a, "GET", "/rules?queue=ruled&"+tt.query, "")
		if code != http.StatusOK || !strings.Contains(page, tt.says) || strings.Contains(page, `role="alert"`) != tt.wrong {
			t.Errorf("%s: %d, and not %q, wrong %v: %s", tt.query, code, tt.says, tt.wrong, mainOf(page))
		}
	}
}
