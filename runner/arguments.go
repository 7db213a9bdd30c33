package runner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"oarlock/internal/placeholder"
	"oarlock/protocol"
)

// ArgumentError says that a job cannot be what arguments or variables of its program are made
// of: something that they name is missing, holds NUL, or is too long. The job alone is to
// blame for that.
type ArgumentError struct {
	Where string // args[0], or the name of a variable
	Why   string
}

func (e *ArgumentError) Error() string { return e.Where + ": " + e.Why }

// NotStarted is the ending of a run whose child was not started, by the error of Start.
func NotStarted(err error) *Ending {
	e := &Ending{Kind: CouldNotStart, Short: Short(err), ExitCode: -1, Group: "could-not-start", Message: err.Error()}
	if wrong, is := errors.AsType[*ArgumentError](err); is {
		e.Kind, e.Group, e.Message = BadArguments, "bad-arguments", string(protocol.Visible(nil, []byte(wrong.Error())))
	} else if errors.Is(err, ErrPayload) {
		e.Kind, e.Group = BadArguments, "payload-not-json"
	}
	return e
}

// words are the arguments and the variables of a child, in which placeholders were filled in.
type words struct {
	args, vars []string
	longest    string // the placeholder of the job's that is the longest text; "" if there is none
	size       int    // of that, in bytes
	sound      bool   // the data of the job is JSON
}

// words fills in what the spec has for c.
func (c *Child) words() (w words, err error) {
	for i, text := range c.spec.Args {
		arg, err := c.fill(&w, fmt.Sprintf("args[%d]", i), text)
		if err != nil {
			return w, err
		}
		w.args = append(w.args, arg)
	}
	for _, name := range slices.Sorted(maps.Keys(c.spec.Vars)) {
		if c.slot == noSlot && ofSlot(c.spec.Vars[name]) {
			continue
		}
		value, err := c.fill(&w, name, c.spec.Vars[name])
		if err != nil {
			return w, err
		}
		w.vars = append(w.vars, name+"="+value)
	}
	return w, nil
}

// Args are the arguments that followed the spec's Command, with their placeholders filled in.
func (c *Child) Args() []string { return c.filled.args }

// noSlot is the slot of a preloaded program, which has none.
const noSlot = -1

// ofSlot reports whether a text names the slot.
func ofSlot(text string) bool {
	parsed, err := placeholder.Parse(text)
	return err == nil && slices.ContainsFunc(parsed.Names(), func(n placeholder.Name) bool { return n.What == placeholder.Slot })
}

// fill replaces the placeholders in one text.
func (c *Child) fill(w *words, where, text string) (string, error) {
	parsed, err := placeholder.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", where, err)
	}
	return parsed.Fill(func(name placeholder.Name) (string, error) {
		if name.What == placeholder.Data && c.first != nil && !w.sound {
			if w.sound = protocol.Valid(c.first.Data); !w.sound {
				return "", ErrPayload
			}
		}
		value, err := c.value(name)
		if err != nil {
			return "", &ArgumentError{where, fmt.Sprintf("%v: %v", name, err)}
		}
		if strings.IndexByte(value, 0) >= 0 {
			return "", &ArgumentError{where, fmt.Sprintf("%v holds a NUL, which no argument and no variable can", name)}
		}
		if name.OfJob() && (w.longest == "" || len(value) > w.size) {
			w.longest, w.size = name.String(), len(value)
		}
		return value, nil
	})
}

// value is what a placeholder stands for.
func (c *Child) value(name placeholder.Name) (string, error) {
	switch name.What {
	case placeholder.Pool:
		return c.spec.Pool, nil
	case placeholder.Slot:
		return strconv.Itoa(c.slot), nil
	case placeholder.Dir:
		return c.dir, nil
	}
	j := c.first
	if j == nil {
		return "", fmt.Errorf("the child lives longer than a job in mode %v", c.spec.Mode)
	}
	switch name.What {
	case placeholder.JID:
		return j.JID, nil
	case placeholder.Klass:
		return j.Klass, nil
	case placeholder.Queue:
		return j.Queue, nil
	case placeholder.Attempt:
		return strconv.Itoa(j.Attempt), nil
	}
	value, found := protocol.Member(j.Data, name.Path...)
	if !found {
		return "", errors.New("the data of the job has no such value")
	}
	return protocol.Text(value), nil
}

// tooLong is err, or, if it says that arguments and environment are too long and a job is
// what made them so, an ArgumentError.
func (w *words) tooLong(err error) error {
	if !errors.Is(err, syscall.E2BIG) || w.longest == "" {
		return err
	}
	return &ArgumentError{"arguments and environment", w.tooMuch()}
}

// tooMuch says what is too long, and what the kernel takes: a text of 32 pages.
func (w *words) tooMuch() string {
	return fmt.Sprintf("too long to start a program with: %s alone is %d bytes; the kernel takes 128 KiB in one text and about 2 MiB in all. Let the program read it from stdin", cmp.Or(w.longest, "a value of the job"), w.size)
}
