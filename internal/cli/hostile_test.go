package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/screentest"
	"oarlock/queue"
	"oarlock/supervisor"
)

const hostile = screentest.Hostile

// hostileThings are things of all kinds that a client can put, and what a child can leave.
func hostileThings(t *testing.T, q *queue.Client) {
	t.Helper()
	ctx := t.Context()
	text := must.Get(json.Marshal(hostile))(t)
	put := func(jid, name string) queue.Put {
		return queue.Put{Queue: name, JID: jid, Klass: hostile, Data: text, Tags: []string{hostile}}
	}
	var record supervisor.Record
	screentest.Fill(reflect.ValueOf(&record).Elem())
	kept := must.Get(json.Marshal(record))(t)
	bad := put("bad", "work")
	running, throttled := put("running", hostile), put("throttled", hostile)
	throttled.Throttles = []string{hostile}
	later := put("later", hostile)
	later.Delay = time.Hour
	after := put("after", "work")
	after.Depends = []string{hostile}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(q.PutAll(ctx, []queue.Put{running, bad}))
	must(q.Pop(ctx, hostile, hostile, 1))
	must(q.Pop(ctx, "work", hostile, 1))
	must(nil, q.Fail(ctx, "bad", hostile, hostile, hostile))
	must(nil, q.Log(ctx, "bad", hostile, []byte(`{"more":`+string(text)+`}`)))
	must(nil, q.Redis().HSet(ctx, "ql:j:bad", "oarlock-record", kept).Err())
	must(q.PutAll(ctx, []queue.Put{put(hostile, hostile), throttled, later, after}))
	must(nil, q.SetThrottle(ctx, queue.Throttle{ID: hostile, Maximum: 1}))
	must(nil, q.Set(ctx, hostile, hostile))
	must(nil, q.Pause(ctx, hostile))
	cron := queue.Cron{Name: "cron", Schedule: "@daily", CronWork: queue.CronWork{Queue: hostile, Klass: hostile, Data: text, Tags: []string{hostile}}}
	must(q.PutCron(ctx, cron, "", time.Time{}, queue.CronHolder{}))
	must(nil, q.Redis().HSet(ctx, "ql:oarlock:cron:cron", "zone", hostile, "last-jid", hostile, "last", 1).Err())
	must(q.Recur(ctx, queue.Recurring{Queue: hostile, JID: hostile, Klass: hostile, Data: text, Interval: time.Hour, Tags: []string{hostile}}))
}

// looks are the commands that show what hostileThings has made; H stands for hostile.
const looks = `queue ls|queue show H|queue peek H|queue limit H|job show bad|job show H|job log bad|job why bad|job why H|job why running|
job why throttled|job why later|job why after|failed ls|failed ls H|recur ls|recur ls H|recur show H|recur show cron|recur pause cron|recur update cron --zone H|recur diff|worker ls|worker show H|throttle ls|throttle show H|
tag ls|tag jobs H|stats work|stats H|config get|config get H|doctor|check H|status|nosuchH|H|job H|--H|-c H status|replay H H|replay bad nosuch|
put work H|put work 1 --klass H|--redis H queue ls|--redis redis://H queue ls|--log-level H queue ls|try H`

// TestHostileTextsOfAllCommands runs all commands that end by themselves, with words that name
// what is there and words that name nothing, as text and as JSON; a short run only those that
// show something and a tenth of the others, as text.
func TestHostileTextsOfAllCommands(t *testing.T) {
	s, q := scriptOn(t, "")
	hostileThings(t, q)
	var asks [][]string
	for look := range strings.SplitSeq(strings.ReplaceAll(looks, "\n", ""), "|") {
		asks = append(asks, strings.Split(look, " "))
	}
	tails := [][]string{nil, {"--json"}}
	most := 150
	if testing.Short() {
		tails, most = tails[:1], 75
	}
	for _, line := range tenth(fullLines()) { // after the looks, for they change what is there
		if slices.Contains(strings.Fields("run dev demo bench top say lua completion events init unit try torture"), line[0]) || slices.Equal(line[:min(len(line), 2)], []string{"list", "watch"}) {
			continue
		}
		for i, word := range line {
			line[i] = strings.Replace(word, "precious", "H", 1)
		}
		if strings.HasPrefix(strings.Join(line, " "), "queue eta ") {
			line = append(line, "--over", "10ms")
		}
		asks = append(asks, line)
	}
	shown := 0
	for _, ask := range asks {
		for i, word := range ask {
			if before, found := strings.CutSuffix(word, "H"); found {
				ask[i] = before + hostile
			}
		}
		for _, more := range tails {
			args := slices.Concat(ask, more)
			s.anyCode(args)
			out := s.said["stdout"] + s.said["stderr"]
			screentest.Clean(t, fmt.Sprintf("%q", args), out)
			shown += strings.Count(out, `]0;own`)
		}
	}
	if shown < most {
		t.Errorf("the texts were shown only %d times: what is asked for is not there", shown)
	}
}

// TestNamesOfHelp puts into queues and asks for jobs whose names mean help to the parser.
func TestNamesOfHelp(t *testing.T) {
	s := newScript(t, "")
	for _, name := range []string{"h", "help", "put", "-h"} {
		for _, args := range [][]string{
			{"put", "--jid=" + name, "--", name}, {"queue", "pause", "--", name}, {"queue", "resume", "--", name},
			{"job", "show", "--", name}, {"job", "cancel", "--", name}, {"queue", "forget", "--", name},
		} {
			if name != "-h" {
				args = slices.DeleteFunc(args, func(word string) bool { return word == "--" })
			}
			if err := s.oarlock(exitOK, args); err != nil || strings.Contains(s.said["stdout"], "USAGE") {
				t.Errorf("%q: %v %s%s", args, err, s.said["stdout"], s.said["stderr"])
			}
		}
	}
	for _, line := range []string{"help", "help put", "put --help", "put -h", "queue help", "queue pause --help", "h queue"} {
		if err := s.oarlock(exitOK, strings.Fields(line)); err != nil || !strings.Contains(s.said["stdout"], "USAGE") {
			t.Errorf("%s: %v %s%s", line, err, s.said["stdout"], s.said["stderr"])
		}
	}
	s.says(t, exitOK, "put --help", "oarlock put [command options] QUEUE [DATA]")
}
