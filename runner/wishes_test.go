package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
)

// shown is what is wished for, a word for each.
func shown(list []protocol.Wish) string {
	var words []string
	for _, w := range list {
		word := w.Verb
		if w.JID != "" {
			word = w.JID + "." + word
		}
		switch w.Verb {
		case protocol.VerbTag, protocol.VerbUntag:
			word += fmt.Sprint(w.Tags)
		case protocol.VerbPriority:
			word += fmt.Sprint(w.Priority)
		case protocol.VerbNote:
			word += ":" + w.Message
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestOnlyTheLastOfWishesCounts(t *testing.T) {
	tag := func(tags ...string) protocol.Wish { return protocol.Wish{Verb: "tag", Tags: tags} }
	untag := func(tags ...string) protocol.Wish { return protocol.Wish{Verb: "untag", Tags: tags} }
	to := func(n float64) protocol.Wish { return protocol.Wish{Verb: "priority", Priority: n} }
	note := func(m string) protocol.Wish { return protocol.Wish{Verb: "note", Message: m} }
	word := func(verb, jid string) protocol.Wish { return protocol.Wish{Verb: verb, JID: jid} }
	for _, tt := range []struct {
		wishes []protocol.Wish
		want   string
	}{
		{nil, ""},
		{[]protocol.Wish{tag("a"), tag("b", "a"), tag("c")}, "tag[b a c]"},
		{[]protocol.Wish{tag("a", "b"), untag("a")}, "tag[b] untag[a]"},
		{[]protocol.Wish{tag("a"), untag("a"), tag("a")}, "tag[a]"},
		{[]protocol.Wish{to(1), note("m"), to(2), note("m")}, "note:m priority2 note:m"},
		{[]protocol.Wish{word("track", ""), word("untrack", ""), word("track", "x"), word("untrack", "y")}, "untrack x.track y.untrack"},
		{[]protocol.Wish{word("cancel", "x"), word("requeue", "x"), word("cancel", "x"), word("cancel", "y")}, "x.requeue x.cancel y.cancel"},
	} {
		var ws wishes
		for _, w := range tt.wishes {
			w.Tags = slices.Clone(w.Tags)
			same(t, ws.add(w), "", "%s: %s", tt.want)
		}
		same(t, shown(ws.take()), tt.want, "%s")
	}
}

func TestWishesAreBounded(t *testing.T) {
	var ws wishes
	for i := range 10_000 {
		if why := ws.add(protocol.Wish{Verb: "priority", Priority: float64(i)}); why != "" {
			t.Fatal(why)
		}
	}
	refused := 0
	for i := range 10_000 {
		if ws.add(protocol.Wish{Verb: "tag", Tags: []string{fmt.Sprint(i)}}) != "" {
			refused++
		}
	}
	if refused != 10_000-maxWishes+1 || len(ws.list) > 1+maxWishes/protocol.MaxTags {
		t.Errorf("%d refused, %d entries", refused, len(ws.list))
	}
	ws.take()
	for range 1000 {
		ws.add(protocol.Wish{Verb: "note", Message: strings.Repeat("x", protocol.MaxNote)})
	}
	if ws.bytes > maxWishBytes {
		t.Errorf("%d bytes wait", ws.bytes)
	}
}

// What a child says of its own job, and in which order, until its verdict; what is said too
// late, or cannot be understood, is log, and ends nothing.
func TestWishesOfAChild(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	mustRun(t, c, steps{
		say("tag", "tags", []string{"a", "b"}),
		say("tag", "tags", "a"),
		say("note"),
		say("cancel", "jid", "other"),
		say("priority", "priority", 7, "jid", "j"),
		say("retry"),
		say("tag", "tags", []string{"late"}),
	}.job("r1"), RunLimits{})
	e := await(t, w.endings, "ending")
	if got := shown(e.Wishes); e.Kind != Said || e.Verdict.Kind != protocol.Retry || !strings.HasPrefix(got, "tag[a b] other.cancel") || strings.Contains(got, "late") {
		t.Errorf("%v %+v: %s", e.Kind, e.Verdict, got)
	}
	same(t, w.told(), 1, "told %d times to ask")
	for _, why := range []string{"tags is not a list of strings", "message is missing"} {
		if !slices.ContainsFunc(w.lines(), func(l loggedLine) bool { return l.refused == why }) {
			t.Errorf("no line was refused because %q", why)
		}
	}
}

// A cancel or requeue that a job says of itself is its verdict, by whichever name.
func TestWishesThatEndTheirRun(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse})
	for i, tt := range []struct {
		say  []any
		kind protocol.Kind
	}{
		{say("cancel"), protocol.Cancel}, {say("requeue", "queue", "q2", "delay", 3), protocol.Requeue},
	} {
		e := endOf(t, c, w, steps{say("tag", "tags", []string{"a"}), tt.say}.job(fmt.Sprint("r", i)), RunLimits{})
		if e.Kind != Said || e.Verdict.Kind != tt.kind || shown(e.Wishes) != "tag[a]" {
			t.Errorf("%v %+v: %s", e.Kind, e.Verdict, shown(e.Wishes))
		}
	}
	if e := endOf(t, c, w, steps{say("requeue", "delay", "soon")}.job("r9"), RunLimits{}); e.Kind != BrokeProtocol || !strings.Contains(e.Message, "delay") {
		t.Errorf("%v: %s", e.Kind, e.Message)
	}
}

// A child that prints what it reads prints the line that asks it to stop, too: its job is not ended
// by that.
func TestEchoOfACancelLineIsNoWish(t *testing.T) {
	c, w := obedient(t, newHost(t), Spec{Mode: Reuse}, protocol.CapCancel)
	r := mustRun(t, c, listenThenRetry.job("r1"), RunLimits{})
	w.awaitLine(t, "at work")
	r.Cancel(CauseShutdown, 5*time.Second)
	if e := await(t, w.endings, "ending"); e.Verdict == nil || e.Verdict.Kind != protocol.Retry {
		t.Errorf("%v by %v, verdict %+v; want its own", e.Kind, e.SentByUs, e.Verdict)
	}
	if !strings.Contains(w.text("r1"), `"@":"cancel"`) {
		t.Errorf("the echo was not logged: %s", w.text("r1"))
	}
}
