package top

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screentest"
	"oarlock/internal/service"
	"oarlock/queue"
	"oarlock/supervisor"
)

var update = flag.Bool("update", false, "write the frames anew")

// told is a Source of the tests: what it tells is set beforehand, what it did is noted.
type told struct {
	status *service.Status
	err    error // of all
	queues []ops.Queue
	groups map[string]int
	jobs   []ops.Job
	roll   rollcall.Roll
	text   string

	did []string
}

func (s *told) note(format string, args ...any) (string, error) {
	s.did = append(s.did, fmt.Sprintf(format, args...))
	return "done: " + s.did[len(s.did)-1], s.err
}

func (s *told) Status(context.Context) (*service.Status, error) {
	if s.status == nil && s.err == nil {
		return nil, ErrNoSupervisor
	}
	return s.status, s.err
}
func (s *told) Queues(context.Context) ([]ops.Queue, error)       { return s.queues, s.err }
func (s *told) Groups(context.Context) (map[string]int, error)    { return s.groups, s.err }
func (s *told) Failed(context.Context, string) ([]ops.Job, error) { return s.jobs, s.err }
func (s *told) Why(_ context.Context, jid string) ([]string, error) {
	return []string{"why " + jid + s.text}, s.err
}
func (s *told) Words(_ context.Context, jid string) (string, error) {
	return "words of " + jid + s.text, s.err
}
func (s *told) Log(_ context.Context, of rollcall.Who, pool string, slot int) ([]rollcall.Line, error) {
	first := rollcall.Line{At: 1790000000, Level: "info", JID: "j1", Text: fmt.Sprintf("first of %s %s/%d%s", of.Name, pool, slot, s.text)}
	return []rollcall.Line{first, {At: 1790000001, Text: "last"}}, s.err
}
func (s *told) Roll(context.Context) (rollcall.Roll, error)         { return s.roll, s.err }
func (s *told) Quiet(_ context.Context, quiet bool) (string, error) { return s.note("quiet %v", quiet) }
func (s *told) Recycle(_ context.Context, pool string) (string, error) {
	return s.note("recycle %s", pool)
}
func (s *told) QuietPool(_ context.Context, pool string, quiet bool) (string, error) {
	return s.note("quiet %s %v", pool, quiet)
}
func (s *told) AbandonRoll(_ context.Context, pool string) (string, error) {
	return s.note("abandon %s", pool)
}
func (s *told) RecycleSlot(_ context.Context, pool string, slot int) (string, error) {
	return s.note("recycle %s/%d", pool, slot)
}
func (s *told) StopRun(_ context.Context, pool string, slot int, run string) (string, error) {
	return s.note("stop %s/%d %s", pool, slot, run)
}
func (s *told) Retry(_ context.Context, jid string) (string, error) { return s.note("retry %s", jid) }
func (s *told) Scale(_ context.Context, pool string, n int) (string, error) {
	return s.note("scale %s %d", pool, n)
}
func (s *told) Pause(_ context.Context, queue string, pause bool) (string, error) {
	return s.note("pause %s %v", queue, pause)
}
func (s *told) RetryGroup(_ context.Context, group string) (string, error) {
	return s.note("retry group %s", group)
}

// ordinary is a world in which this and that goes on.
func ordinary() *told {
	forty, ready, many, idle, age := 40.0, 4120, 1900, 0, 38.0
	run := supervisor.RunSnapshot{Run: "r1", JID: "8f2c7b3a11d04e6f8f2c7b3a11d04e6f", Klass: "Send", Queue: "mail", Attempt: 2, Age: 12, TimeoutLeft: 48, Percent: &forty, Progress: "connected to mx1"}
	mail := supervisor.PoolSnapshot{Name: "mail", Worker: "web2-mail", Mode: "reuse", Queues: []string{"mail", "mail-*"}, Children: 3, Least: 3, Most: 3, Generation: 5, Ready: 4120, Oldest: 4, RoundTrip: 0.0004, LeaseMargin: 11.2,
		Roll: &supervisor.RollSnapshot{From: 4, To: 5, Changed: 1, Of: 3}, Slots: []supervisor.SlotSnapshot{
			{Slot: 0, State: "busy", PID: 4711, Generation: 5, Age: 180, Jobs: 812, Memory: 98 << 20, Runs: []supervisor.RunSnapshot{run}},
			{Slot: 1, State: "ready", PID: 4712, Generation: 4, Age: 7200, Jobs: 12},
			{Slot: 2, State: "backoff", Generation: 4, Next: 3},
		}}
	render := supervisor.PoolSnapshot{Name: "render", Worker: "web2-render", Mode: "once", Queues: []string{"render"}, Children: 4, Generation: 2, Ready: 1900, Oldest: 7200, Breaker: "exit-1: no such font", BreakerFor: 360, NextProbe: 12}
	return &told{
		status: &service.Status{
			Snapshot: supervisor.Snapshot{Name: "web2", PID: 99, Up: 259200, Ready: true, Redis: "ok", Pools: []supervisor.PoolSnapshot{mail, render}},
			Queues: []service.QueueStatus{{Pool: "mail", Queue: "mail", Ready: &ready, Waiting: &ready, Running: &idle, Scheduled: &idle, Oldest: &age, DonePerSecond: 40.1, FailedPerMinute: 5},
				{Pool: "render", Queue: "render", Ready: &many, Waiting: &many, Running: &idle, Scheduled: &idle, Oldest: &age, FailedPerMinute: 60}},
		},
		queues: []ops.Queue{{Name: "mail", Waiting: 4120, Running: 64, Scheduled: 3}, {Name: "render", Waiting: 1900, Paused: true}, {Name: "日本語", Waiting: 2, Unserved: 7200}},
		groups: map[string]int{"exit-1": 287, "timeout": 13, "odd": -1},
		jobs: []ops.Job{{JID: "9a3c7b3a11d04e6f8f2c7b3a11d04e6f", Klass: "Resize", Queue: "thumbs", Failure: &queue.Failure{Group: "exit-1", Message: "cannot open cat.jpg", When: 1790000000 - 120}},
			{JID: "order-17", Klass: "Thumb", Queue: "thumbs", Failure: &queue.Failure{Group: "exit-1", Message: "no such file\nsecond line", When: 1790000000 - 3600}}},
		roll: rollcall.Roll{Asked: 3, Answered: 2, Missing: 1, Silent: []string{"web7"}, Unheard: []rollcall.Unheard{{Name: "web7"}, {Name: "web9"}}, Items: []rollcall.Answer{
			{Host: "web1", Version: "1.0", Sums: rollcall.Sums{Children: 7, Busy: 7, Breakers: 1}, Status: supervisor.Snapshot{Pools: []supervisor.PoolSnapshot{{Children: 8}}, Name: "web1", PID: 12, Up: 3600, Ready: true, Redis: "ok"}},
			{Host: "web2", Version: "1.0", URL: "http://web2:7733", Sums: rollcall.Sums{Children: 3, Busy: 1}, Cut: true, Status: supervisor.Snapshot{Name: "web2", PID: 99, Up: 259200, Ready: true, Redis: "ok"}},
		}},
	}
}

// sitting is somebody before the screen.
type sitting struct {
	*model
	t *testing.T
}

func sit(t *testing.T, source *told, width, height int) *sitting {
	m := newModel(t.Context(), Options{Source: source})
	moment := time.Unix(1790000000, 0)
	m.now = func() time.Time { moment = moment.Add(3 * time.Second); return moment }
	s := &sitting{m, t}
	s.tell(tea.WindowSizeMsg{Width: width, Height: height})
	s.obey(m.look())
	s.obey(m.lookElsewhere(pageQueues))
	m.now = func() time.Time { return time.Unix(1790000000, 0) }
	return s
}

// obey runs a command, and those that come of it, but for the clock.
func (s *sitting) obey(c tea.Cmd) {
	if c == nil {
		return
	}
	switch message := c().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, each := range message {
			s.obey(each)
		}
	default:
		s.tell(message)
	}
}

func (s *sitting) tell(message tea.Msg) {
	_, c := s.Update(message)
	s.obey(c)
}

// press presses keys, by name.
func (s *sitting) press(names ...string) *sitting {
	special := map[string]tea.KeyPressMsg{"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp}, "backspace": {Code: tea.KeyBackspace}}
	for _, name := range names {
		k, is := special[name]
		if !is {
			k = tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		}
		s.tell(k)
	}
	return s
}

// plain is the screen without colours; it must fit.
func (s *sitting) plain() string {
	s.t.Helper()
	text := plainText(s.frame())
	lines := strings.Split(text, "\n")
	if len(lines) > max(s.height, 1) {
		s.t.Errorf("%dx%d: %d lines", s.width, s.height, len(lines))
	}
	for i, line := range lines {
		if wide := lipgloss.Width(line); wide > s.width {
			s.t.Errorf("%dx%d: a line of %d columns: %q", s.width, s.height, wide, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func (s *sitting) shows(words ...string) {
	s.t.Helper()
	text := s.plain()
	for _, want := range words {
		if !strings.Contains(text, want) {
			s.t.Errorf("no %q on\n%s", want, text)
		}
	}
}

// One frame tells of all queues what the overview does, and to which no supervisor listens, where all have answered.
func TestOneFrameTellsOfAllQueues(t *testing.T) {
	source := ordinary()
	source.roll = rollcall.Roll{Asked: 1, Answered: 1, Items: []rollcall.Answer{{Host: "web2", Status: source.status.Snapshot}}}
	source.queues = []ops.Queue{{Name: "mail", Waiting: 5, Running: 2}, {Name: "mial", Waiting: 1, Throttled: 2}, {Name: "odd", Waiting: 1, Unserved: 90}, {Name: "ruby", Waiting: 3, Running: 1}}
	for _, all := range []bool{true, false} {
		if !all {
			source.roll.Missing = 1
		}
		text, err := Once(t.Context(), Options{Source: source}, 160)
		if err != nil || !strings.Contains(text, "QUEUES, in all 12 waiting and 3 running") {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, says := range []string{"▲ no supervisor listens to it\n", "▲ no supervisor listens to it, the next waits for "} {
			if strings.Count(text, says) != 1 == all {
				t.Errorf("with all supervisors %t it says %q %d times\n%s", all, says, strings.Count(text, says), text)
			}
		}
	}
}

// One frame says what it could not ask, instead of leaving it out.
func TestOneFrameTellsWhatIsMissing(t *testing.T) {
	text, err := Once(t.Context(), Options{Source: deaf{ordinary()}}, 160)
	if err != nil || strings.Count(text, "▲ Redis is away") != 1 || !strings.Contains(text, "POOLS") || strings.Contains(text, "QUEUES, ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// deaf is a source that hears a supervisor, and nothing of Redis.
type deaf struct{ *told }

func (deaf) Queues(context.Context) ([]ops.Queue, error)    { return nil, errors.New("Redis is away") }
func (deaf) Groups(context.Context) (map[string]int, error) { return nil, errors.New("Redis is away") }
func (deaf) Roll(context.Context) (rollcall.Roll, error) {
	return rollcall.Roll{}, errors.New("Redis is away")
}

// What waits behind others, or for a place, waits: the headline and the order of queues count it.
func TestWhatWaitsIsCountedWhereverItStands(t *testing.T) {
	source := ordinary()
	none, seven := 0, 7
	source.status.Queues = []service.QueueStatus{{Pool: "mail", Queue: "orders", Ready: &none, Waiting: &seven}, {Pool: "render", Queue: "orders", Ready: &none, Waiting: &seven}}
	source.queues = []ops.Queue{{Name: "some", Waiting: 3}, {Name: "throttled", Waiting: 1, Throttled: 7}}
	s := sit(t, source, 140, 30)
	s.shows("waiting here 7 ")
	s.page, s.sort[pageQueues] = pageQueues, 0 // waiting
	if queues := s.queues(); queues[0].Name != "throttled" {
		t.Errorf("first comes %s", queues[0].Name)
	}
}

// The frames as they were looked at and found good; -update writes them anew.
func TestFrames(t *testing.T) {
	away := ordinary()
	away.status.Redis = "connect to 10.0.0.1:6379: connection refused"
	nobody := ordinary()
	nobody.status = nil
	for _, tt := range []struct {
		name          string
		source        *told
		width, height int
		keys          []string
	}{
		{"pools-80x24", ordinary(), 80, 24, nil},
		{"pools-140x30", ordinary(), 140, 30, []string{"enter"}},
		{"breaker-80x24", ordinary(), 80, 24, []string{"down"}},
		{"queues-80x24", ordinary(), 80, 24, []string{"2", "down"}},
		{"failures-80x24", ordinary(), 80, 24, []string{"3", "enter", "down"}},
		{"hosts-120x24", ordinary(), 120, 24, []string{"a"}},
		{"asked-80x24", ordinary(), 80, 24, []string{"R"}},
		{"help-80x24", ordinary(), 80, 24, []string{"?"}},
		{"why-80x24", ordinary(), 80, 24, []string{"enter", "w"}},
		{"away-80x24", away, 80, 24, nil},
		{"nobody-80x24", nobody, 80, 24, nil},
		{"tiny-40x10", ordinary(), 40, 10, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := sit(t, tt.source, tt.width, tt.height).press(tt.keys...).plain() + "\n"
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				must.Do(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("it shows\n%s\nand should\n%s%v", got, want, err)
			}
		})
	}
}

// Whatever the size, and wherever one stands, the frame fits and nothing panics.
func TestAnySize(t *testing.T) {
	worlds := []*told{ordinary(), {}, {err: errors.New(strings.Repeat("trouble ", 99))}}
	for _, source := range worlds {
		for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 50}, {300, 3}, {39, 9}, {40, 10}, {80, 24}, {81, 25}, {133, 47}, {1000, 400}} {
			for _, keys := range []string{"", "2", "3", "4", "1R", "2/x", "?"} {
				s := sit(t, source, size[0], size[1])
				s.press(strings.Split(keys, "")...).plain()
				s.tell(tea.WindowSizeMsg{Width: 80, Height: 24})
				s.plain()
			}
		}
	}
}

func TestDeedsAskFirst(t *testing.T) {
	for _, tt := range []struct {
		keys, asks, does string
	}{
		{"Q", "Take no more jobs", "quiet true"},
		{"+", "Have 4 children in mail, instead of 3?", "scale mail 4"},
		{"-", "Have 2 children in mail, instead of 3?", "scale mail 2"},
		{"jR", "Replace the children of render", "recycle render"},
		{"2p", "Pause mail for all supervisors?", "pause mail true"},
		{"2jp", "End the pause of render?", "pause render false"},
		{"3r", "Retry all of exit-1, 287 jobs?", "retry group exit-1"},
		{"3⏎jr", "Retry job order-17?", "retry order-17"},
		{"⏎x", "Stop Send 8f2c7b3a11d04e6f8f2c7b3a11d04e6f", "stop mail/0 r1"},
		{"⏎jc", "Replace the child of slot 1 of mail", "recycle mail/1"},
		{"u", "Take no more jobs in mail?", "quiet mail true"},
		{"G", "Give up the roll of mail, so that generation 4", "abandon mail"},
	} {
		keys := strings.Split(tt.keys, "")
		for i := range keys {
			if keys[i] == "⏎" {
				keys[i] = "enter"
			}
		}
		source := ordinary()
		s := sit(t, source, 120, 30)
		s.press(keys...).shows(tt.asks)
		s.press("n").shows("nothing was done")
		if len(source.did) > 0 {
			t.Errorf("%s did %v without y", tt.keys, source.did)
		}
		s.press(keys[len(keys)-1], "y").shows("done: " + tt.does)
		if len(source.did) != 1 || source.did[0] != tt.does {
			t.Errorf("%s did %v, want %s", tt.keys, source.did, tt.does)
		}
		source.did = nil
		s.o.ReadOnly = true
		s.press(keys[len(keys)-1]).shows("--read-only")
		s.press("y")
		if len(source.did) > 0 {
			t.Errorf("read-only did %v", source.did)
		}
	}
}

func TestSortFilterAndRead(t *testing.T) {
	source := ordinary()
	source.text = strings.Repeat("\nline", 60)
	s := sit(t, source, 80, 24)
	s.press("2", "s").shows("by name")
	s.press("/", "R", "e", "n", "x", "backspace").shows("/Ren▏", "render")
	if text := s.plain(); strings.Contains(text, "mail  ") {
		t.Errorf("the filter lets pass\n%s", text)
	}
	s.press("enter", "esc").shows("mail")
	s.press("/", "z", "enter").shows("nothing has “z” in its name")
	s.press("esc", "3", "enter", "e").shows("words of 9a3c7b3a11d04e6f8f2c7b3a11d04e6f", "more below")
	s.press("q").shows("[3]failures", "exit-1")
	s.press("1", "enter", "l").shows("last", "info j1  first of web2 mail/0")
	s.press("q", "3", "enter")
	if source.err = errors.New("Redis is away"); true {
		s.press("w").shows("Redis is away")
	}
}

// The lines of a child are followed, found in and held; who reads further down stays at the line that is read.
func TestFollowsALog(t *testing.T) {
	source := ordinary()
	s := sit(t, source, 100, 24)
	s.press("1", "enter", "l").shows("what slot 0 of mail printed last", "follows: f holds", "last", "first of web2")
	source.text = ", and more"
	s.obey(s.follow())
	s.shows("first of web2 mail/0, and more")
	s.press("/", "F", "I", "R").shows("/FIR▏")
	s.press("enter").shows("/FIR: 1 of 2 lines")
	if text := s.plain(); strings.Contains(text, "  last") {
		t.Errorf("what is not looked for is shown:\n%s", text)
	}
	s.press("esc", "f").shows("held: f follows")
	if source.text = ", and never"; s.follow() != nil {
		t.Error("it is asked again while it is held")
	}
	s.press("f")
	source.err = errors.New("the supervisor does not answer")
	s.obey(s.follow())
	s.shows("▲ the supervisor does not answer", "and more")
	source.err = nil
	s.press("down")
	at := s.open.lines[s.open.from]
	s.tell(reread{s.open, append([]string{"newer", "new"}, s.open.lines...), nil})
	if got := s.open.lines[s.open.from]; got != at {
		t.Errorf("the line that was read was %q, and is %q", at, got)
	}
	s.press("q").shows("[1]pools")
	if s.follow() != nil {
		t.Error("what is closed is followed")
	}
}

// A supervisor that is gone leaves its last numbers, which say how old they are.
func TestWhatIsGoneStaysInSight(t *testing.T) {
	source := ordinary()
	s := sit(t, source, 120, 24)
	source.err = errors.New("ask supervisor 99 to status: connection refused")
	s.model.now = func() time.Time { return time.Unix(1790000060, 0) }
	s.obey(s.look())
	s.shows("GONE, or does not answer", "as of ", "mail")
	source.err = nil
	s.obey(s.look())
	s.shows("ready")
}

func TestHostileTextsPlayNoTerminal(t *testing.T) {
	source := &told{status: &service.Status{}, groups: map[string]int{screentest.Hostile: 1}, text: screentest.Hostile}
	screentest.Fill(reflect.ValueOf(source.status).Elem())
	screentest.Fill(reflect.ValueOf(&source.queues).Elem())
	screentest.Fill(reflect.ValueOf(&source.jobs).Elem())
	screentest.Fill(reflect.ValueOf(&source.roll).Elem())
	for _, width := range []int{40, 80, 200} {
		for _, keys := range []string{"1", "2", "3", "4", "1tw", "1tl", "1te", "3tw", "3te", "2w", "4w", "1R", "2p", "3r"} {
			s := sit(t, source, width, 40)
			for _, key := range strings.Split(keys, "") {
				s.press(map[string]string{"t": "tab"}[key] + strings.Trim(key, "t"))
			}
			for _, line := range strings.Split(s.plain(), "\n") {
				if at := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }); at >= 0 {
					t.Errorf("%s at %d: shows %q in %q", keys, width, line[at:], line)
				}
			}
		}
	}
	frame := must.Get(Once(t.Context(), Options{Source: source}, 120))(t)
	screentest.Clean(t, "one frame", frame)
	long := strings.Repeat("e"+strings.Repeat("\u0301", 1000), 64)
	if got := shown(long, 10); lipgloss.Width(got) > 10 || len(got) > 200 {
		t.Errorf("a text of combining marks is shown in %d bytes", len(got))
	}
}

func TestOnce(t *testing.T) {
	frame, err := Once(t.Context(), Options{Source: ordinary()}, 120)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"oarlock web2", "POOLS", "CHILDREN OF mail", "QUEUES", "FAILURES", "exit-1"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
	if strings.Contains(frame, "\x1b") {
		t.Errorf("it has colours: %q", frame)
	}
	if frame, err := Once(t.Context(), Options{Source: &told{}}, 80); err != nil || !strings.Contains(frame, "no supervisor here") {
		t.Errorf("without a supervisor: %q, %v", frame, err)
	}
	if _, err := Once(t.Context(), Options{Source: &told{err: errors.New("Redis is away")}}, 80); err == nil {
		t.Error("with nothing to show it succeeds")
	}
}

func TestForecastAndSparkline(t *testing.T) {
	for _, tt := range []struct {
		perMinute, done float64
		want            string
	}{{-60, 0, "empties in 9m 0s"}, {-60, 2, "empties in 9m 0s (4m 30s if no more came)"}, {60, 0, "grows by 60 jobs a minute, and none was completed"}, {0, 2, "as much comes as goes"}} {
		var w world
		for i := range 121 {
			w.look(time.Unix(int64(i), 0), int(600+tt.perMinute*(float64(i)/60-1)), tt.done)
		}
		if got := w.forecast(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("at %v a minute, %v done a second: %q, want %q", tt.perMinute, tt.done, got, tt.want)
		}
	}
	for _, tt := range []struct {
		numbers []float64
		want    string
	}{{nil, ""}, {[]float64{0, 0}, "▁▁"}, {[]float64{1, 2, 4, 8}, "▁▂▄█"}, {[]float64{math.MaxFloat64}, "█"}} {
		if got := sparkline(tt.numbers, 8); got != tt.want {
			t.Errorf("%v is drawn %q, want %q", tt.numbers, got, tt.want)
		}
	}
}
