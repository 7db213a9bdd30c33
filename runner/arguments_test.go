package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// printer is a program that writes its arguments, and variables that begin with V, with a NUL after each, to a file.
const printer = `import os, sys
with open(os.environ["OUT"], "wb") as out:
    for word in sys.argv[1:] + sorted("%s=%s" % v for v in os.environ.items() if v[0].startswith(("V", "OARLOCK_SLOT", "LD_"))):
        out.write(os.fsencode(word) + b"\0")
`

// filled starts the printer for a job with that data, and returns what it was given.
func filled(t *testing.T, h *Host, spec Spec, data string) ([]string, *Ending) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	spec.Pool, spec.Command = "thumbs", []string{python(), "-c", printer}
	if spec.Kill == KillAuto {
		spec.Kill = KillGroup
	}
	spec.Env = append([]string{"PATH=/usr/bin:/bin", "OUT=" + out}, spec.Env...)
	job := newJob("r1")
	job.Data, job.JID, job.Attempt = []byte(data), "a job", 2
	w := newWitness()
	c, err := h.Start(context.Background(), &spec, 3, job, w)
	if err != nil {
		return nil, NotStarted(err)
	}
	e := endOf(t, c, w, job, RunLimits{})
	await(t, c.Exited(), "exit")
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, e
	}
	words := strings.Split(string(text), "\x00")
	return words[:len(words)-1], e
}

// What a job says arrives as one argument or one value, and as it is.
func TestArgumentsFromTheJob(t *testing.T) {
	h := newHost(t)
	long := strings.Repeat("ö", 50<<10) // 100 KiB
	for _, value := range []string{
		"cat.jpg", "", "two words", "a\nb", `"quoted" 'twice'`, "$(rm -rf /)", "`id`; exit 1 | & > x", "*", "~", "-rf", "--",
		"größe-日本語-🙂", "{jid}", "{data.x}{{", "%s%n", "\x1b[31m", `\`, long,
	} {
		data, err := json.Marshal(map[string]string{"x": value})
		must(t, err)
		got, e := filled(t, h, Spec{Args: []string{"--x", "{data.x}", "<{data.x}>"}, Vars: map[string]string{"VX": "{data.x}"}}, string(data))
		want := []string{"--x", value, "<" + value + ">", "OARLOCK_SLOT=3", "VX=" + value}
		if !slices.Equal(got, want) {
			t.Errorf("%.40q arrives as %.200q, %+v", value, got, e)
		}
	}
}

// What is known of job and child has a name, and numbers are those of the text.
func TestWhatPlaceholdersStandFor(t *testing.T) {
	got, e := filled(t, newHost(t), Spec{
		Args: []string{
			"{jid}", "{klass}", "{queue}", "{attempt}", "{pool}", "{slot}", "{data.n}", "{data.big}", "{data.huge}", "{data.yes}",
			"{data.a.b.c}", "{data.a}", "{data.l}", "{data.twice}", "{data}", "{{literally}}", "",
		},
		Vars: map[string]string{"VSLOT": "gpu{slot}", "VENV": "stronger", "OARLOCK_SLOT": "{data.n}"},
		Env:  []string{"VENV=weaker", "VKEPT=kept"},
	}, ` {"n":1.50,"big":9007199254740993,"huge":1e400,"yes":true,"a":{"b":{"c" : "deep"}},"l":[1, "x y"],"twice":1,"twice":2} `)
	want := []string{
		"a job", "Test", "q", "2", "thumbs", "3", "1.50", "9007199254740993", "1e400", "true",
		"deep", `{"b":{"c":"deep"}}`, `[1,"x y"]`, "2", `{"n":1.50,"big":9007199254740993,"huge":1e400,"yes":true,"a":{"b":{"c":"deep"}},"l":[1,"x y"],"twice":1,"twice":2}`, "{literally}", "",
		"OARLOCK_SLOT=3", "VENV=stronger", "VKEPT=kept", "VSLOT=gpu3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q, %+v", got, want, e)
	}
}

// A job that has not what is wanted of it ends by name, and no program is started.
func TestBadArguments(t *testing.T) {
	for _, kill := range strengths(t) {
		h := newHost(t)
		for _, tt := range []struct{ args, data, group, message string }{
			{"{data.path}", `{}`, "bad-arguments", "args[0]: {data.path}: the data of the job has no such value"},
			{"{data.path}", `{"path":null}`, "bad-arguments", "{data.path}"},
			{"{data.path}", `[]`, "bad-arguments", "{data.path}"},
			{"{data.a.b}", `{"a":1}`, "bad-arguments", "{data.a.b}"},
			{"x{data.path}", `{"path":"a\u0000b"}`, "bad-arguments", "{data.path} holds a NUL"},
			{"{data.path}", `{"path":"` + strings.Repeat("x", 200<<10) + `"}`, "bad-arguments", "{data.path} alone is 204800 bytes"},
			{strings.Repeat("{data.path}", 4), `{"path":"` + strings.Repeat("x", 40<<10) + `"}`, "bad-arguments", "{data.path} alone is 40960 bytes"},
			{"{data.path}", `{"path":`, "payload-not-json", "not JSON"},
		} {
			_, e := filled(t, h, Spec{Args: []string{tt.args}, Kill: kill}, tt.data)
			if e == nil || e.Kind != BadArguments || e.Group != tt.group || !strings.Contains(e.Message, tt.message) || e.Short || len(e.Message) > 1000 {
				t.Errorf("%v: %.40q of %.40q: %+v", kill, tt.args, tt.data, e)
			}
		}
		var many []string // each is short enough, and all together are not
		for range 40 {
			many = append(many, "{data.path}")
		}
		_, e := filled(t, h, Spec{Args: many, Kill: kill}, `{"path":"`+strings.Repeat("x", 100<<10)+`"}`)
		if e == nil || e.Kind != BadArguments || e.Group != "bad-arguments" {
			t.Errorf("%v: many long ones: %+v", kill, e)
		}
	}
}

// Arguments of the configuration's own that are too long are no job's fault.
func TestArgumentsThatAreTooLongByThemselves(t *testing.T) {
	_, e := filled(t, newHost(t), Spec{Args: []string{strings.Repeat("x", 200<<10)}}, `{}`)
	if e == nil || e.Kind != CouldNotStart {
		t.Errorf("it ended as %+v", e)
	}
}

// A child that lives longer than a job knows its slot.
func TestPlaceholdersOfReusedChildren(t *testing.T) {
	h := newHost(t)
	spec := &Spec{Mode: Reuse, Command: []string{"/bin/sh", "-c", `read -r job; echo "$1 $WHERE"`, "sh"}, Args: []string{"{pool}/{slot}"}, Vars: map[string]string{"WHERE": "gpu{slot}"}}
	c, w := started(t, h, spec)
	mustRun(t, c, newJob("r1"), RunLimits{})
	await(t, w.endings, "ending")
	await(t, c.Exited(), "exit")
	same(t, w.text("r1"), "test/1 gpu1\n", "it printed %q")
	spec = &Spec{Mode: Reuse, Command: shell("true"), Args: []string{"{jid}"}, Kill: KillGroup}
	var wrong *ArgumentError
	if _, err := h.Start(context.Background(), spec, 1, nil, w); !errors.As(err, &wrong) {
		t.Errorf("a job is named where there is none: %v", err)
	}
}

// Forks of a preloaded program are told what belongs to their slot.
func TestPlaceholdersOfForks(t *testing.T) {
	for language, command := range preloadable(t) {
		t.Run(language, func(t *testing.T) {
			spec := &Spec{Mode: Preload, Command: command, Vars: map[string]string{"WHERE": "gpu \"{slot}", "WHO": "{pool}"}}
			e, _, w := work(t, newHost(t), spec, `{"do":"where"}`)
			if e.Kind != Said || !strings.Contains(w.text("r1"), "gpu \"1|test") {
				t.Errorf("it printed %q, %+v", w.text("r1"), e)
			}
		})
	}
}
