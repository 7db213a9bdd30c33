package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// ParseStatus decodes a line, given without its end. It returns false unless the
// line is a status line: one that begins with {, is a whole JSON object, and has
// the key "@" with a string value. Of a key that comes twice the last counts, and
// a null is as good as a field left out; but of "@" and "run" the first counts, and
// there is an Err: such a line is not as its program meant it. The line that asks a child to
// stop has the verb VerbEcho here, which none of a child's is, so that nobody is ended by it.
//
// The result shares no memory with line.
func ParseStatus(line []byte) (Status, bool) {
	if len(line) == 0 || line[0] != '{' {
		return Status{}, false
	}
	var f fields
	whole := members(line, func(name, value []byte) {
		// The compiler makes no string of name for the comparisons.
		switch string(name) {
		case "@":
			f.once(&f.verb, "@", value)
		case "run":
			f.once(&f.run, "run", value)
		case "jid":
			f.jid = value
		case "data":
			f.data = value
		case "message":
			f.message = value
		case "group":
			f.group = value
		case "delay":
			f.delay = value
		default:
			f.others = true
		}
	})
	if !whole || len(f.verb) == 0 || f.verb[0] != '"' {
		return Status{}, false
	}
	f.line = line
	return f.status(), true
}

// Beginning returns the verb and the run of a status line of which only the beginning can
// be read; both are empty where they do not stand in it.
func Beginning(text []byte) Status {
	var s Status
	if len(text) == 0 || text[0] != '{' {
		return s
	}
	members(text, func(name, value []byte) {
		switch {
		case value[0] != '"':
		case string(name) == "@" && s.Verb == "":
			s.Verb = verbName(value)
		case string(name) == "run" && s.Run == "":
			s.Run = string(unquote(value))
		}
	})
	return s
}

// fields are the raw values of a status line: those that most lines have, and,
// by going over the line once more, the rarer ones.
type fields struct {
	line                                        []byte
	verb, run, jid, data, message, group, delay []byte
	others                                      bool // there are members besides these
	err                                         error
}

func (f *fields) status() Status {
	s := Status{Verb: verbName(f.verb), Run: f.text(f.run), JID: f.text(f.jid)}
	if f.echo() {
		s.Verb = VerbEcho
	}
	switch s.Verb {
	case VerbAck:
		s.Verdict = &Verdict{Kind: Ack, Data: f.raw(f.data), Delay: f.wait(f.delay)}
		if f.others {
			s.Verdict.Next = f.string("next")
			s.Verdict.Depends = f.strings("depends")
		}
	case VerbRetry:
		s.Verdict = &Verdict{Kind: Retry, Data: f.raw(f.data), Delay: f.wait(f.delay), Group: GroupOf(f.text(f.group)), Message: f.text(f.message), Raised: f.flag("raised"), DropResponse: f.others && f.word("response", "drop")}
	case VerbFail:
		s.Verdict = &Verdict{Kind: Fail, Data: f.raw(f.data), Group: GroupOf(f.text(f.group)), Message: f.text(f.message), Raised: f.flag("raised")}
	case VerbRelease:
		s.Verdict = &Verdict{Kind: Release, Delay: f.wait(f.delay)}
	case VerbUnknown:
		s.Verdict = &Verdict{Kind: Unknown, Message: f.text(f.message), Klass: f.string("klass")}
	case VerbPark:
		s.Verdict = f.park()
	case VerbHello:
		s.Hello = f.hello()
	case VerbProgress:
		s.Progress = &Progress{Percent: f.percent(), Message: f.text(f.message)}
	case VerbCheckpoint:
		s.Data = f.raw(f.data)
		if s.Data == nil {
			f.bad("data", "is missing")
		}
	case VerbLog:
		s.Log = f.log()
	case VerbPut:
		s.Put = f.put()
	case VerbTag, VerbUntag, VerbTrack, VerbUntrack, VerbPriority, VerbNote, VerbCancel, VerbRequeue:
		s.Wish = f.wish(s.Verb)
	case VerbBye:
		s.Reason = f.string("reason")
	}
	s.Err = f.err
	return s
}

// verbName returns the verb, the constant if it is a known one.
func verbName(quoted []byte) string {
	name := unquote(quoted)
	switch string(name) {
	case VerbAck:
		return VerbAck
	case VerbRetry:
		return VerbRetry
	case VerbFail:
		return VerbFail
	case VerbRelease:
		return VerbRelease
	case VerbUnknown:
		return VerbUnknown
	case VerbProgress:
		return VerbProgress
	case VerbHeartbeat:
		return VerbHeartbeat
	case VerbLog:
		return VerbLog
	}
	return string(name)
}

// once takes in the value of a member that must not come twice. Who writes a text of
// others between quotes without escaping it lets them add members, and these two say what
// a line is and whose.
func (f *fields) once(field *[]byte, name string, value []byte) {
	if *field != nil {
		f.bad(name, "comes twice")
		return
	}
	*field = value
}

func (f *fields) bad(name, why string) {
	if f.err == nil {
		f.err = errors.New(name + " " + why)
	}
}

// other returns the raw value of a rarer member, nil if there is none.
func (f *fields) other(name string) []byte {
	var found []byte
	members(f.line, func(n, value []byte) {
		if string(n) == name {
			found = value
		}
	})
	return found
}

// echo reports whether the line is the one that asks a child to stop (AppendCancel). A child that
// prints what it reads must not end its job for good by it.
func (f *fields) echo() bool {
	return f.others && string(f.verb) == `"cancel"` && f.other("grace") != nil
}

func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// text returns a string; any other value is shown as it was written, for a
// number in the place of a name is better than nothing.
func (f *fields) text(value []byte) string {
	switch {
	case isNull(value):
		return ""
	case value[0] == '"':
		return string(unquote(value))
	}
	return string(validUTF8(value))
}

// MaxGroup is the longest group of failures that a child can name, in bytes.
const MaxGroup = 200

// GroupOf is the name of a group that can stand in keys, logs and lists: what Visible shows
// of text, without tabs, cut at MaxGroup.
func GroupOf(text string) string {
	text = text[:min(len(text), MaxGroup+utf8.UTFMax)] // the rest is cut off in any case
	group := bytes.ReplaceAll(Visible(nil, []byte(text)), []byte("\t"), []byte(" "))
	if len(group) <= MaxGroup {
		return string(group)
	}
	end := MaxGroup
	for !utf8.RuneStart(group[end]) {
		end--
	}
	return string(group[:end])
}

func (f *fields) string(name string) string {
	value := f.other(name)
	if !isNull(value) && value[0] != '"' {
		f.bad(name, "is not a string")
		return ""
	}
	return f.text(value)
}

func (f *fields) strings(name string) []string {
	value := f.other(name)
	if isNull(value) {
		return nil
	}
	list := []string{}
	if !elements(value, func(element []byte) {
		if element[0] != '"' {
			f.bad(name, "is not a list of strings")
			return
		}
		list = append(list, string(unquote(element)))
	}) {
		f.bad(name, "is not a list of strings")
	}
	return list
}

// raw returns a copy of a JSON value.
func (f *fields) raw(value []byte) []byte {
	if isNull(value) {
		return nil
	}
	return validUTF8(value)
}

// validUTF8 returns a copy with replacement characters for what is not UTF-8,
// for it will be kept where all languages read it.
func validUTF8(value []byte) []byte { return bytes.ToValidUTF8(value, []byte("\ufffd")) }

// wait returns a delay of so many seconds; a negative one is none.
func (f *fields) wait(value []byte) *time.Duration {
	if isNull(value) {
		return nil
	}
	d, ok := duration(value)
	if !ok {
		f.bad("delay", "is not a number of seconds")
		return nil
	}
	return &d
}

func duration(value []byte) (time.Duration, bool) {
	seconds, ok := float(value)
	if !ok {
		return 0, false
	}
	const limit = 100 * 365 * 24 * time.Hour
	if seconds >= limit.Seconds() {
		return limit, true
	}
	return time.Duration(max(seconds, 0) * float64(time.Second)), true
}

// float returns a JSON number, the largest one for those out of range.
func float(value []byte) (float64, bool) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(value), 64)
	if err != nil { // out of range, for the syntax has been checked
		x = math.Copysign(math.MaxFloat64, x)
	}
	return x, true
}

func (f *fields) number(name string, missing float64) float64 {
	value := f.other(name)
	if isNull(value) {
		return missing
	}
	x, ok := float(value)
	if !ok {
		f.bad(name, "is not a number")
	}
	return x
}

func (f *fields) integer(name string, missing, low, high int) int {
	x := f.number(name, float64(missing))
	if x != math.Trunc(x) || x < float64(low) || x > float64(high) {
		f.bad(name, fmt.Sprintf("is not a whole number from %d to %d", low, high))
		return missing
	}
	return int(x)
}

func (f *fields) seconds(name string) time.Duration {
	value := f.other(name)
	if isNull(value) {
		return 0
	}
	d, ok := duration(value)
	if !ok {
		f.bad(name, "is not a number of seconds")
	}
	return d
}

func (f *fields) flag(name string) bool {
	if !f.others {
		return false
	}
	value := f.other(name)
	if !isNull(value) && value[0] != 't' && value[0] != 'f' {
		f.bad(name, "is not true or false")
	}
	return !isNull(value) && value[0] == 't'
}

// word tells whether a member has the one value that it may have beside none.
func (f *fields) word(name, value string) bool {
	said := f.string(name)
	if said != "" && said != value {
		f.bad(name, "is not "+value)
	}
	return said == value
}

// park decodes what a job waits for.
func (f *fields) park() *Verdict {
	v := &Verdict{Kind: Park, Data: f.raw(f.data), Correlation: f.text(f.other("correlation")), Checkpoint: f.raw(f.other("checkpoint"))}
	if len(v.Correlation) > MaxCorrelation {
		f.bad("correlation", fmt.Sprintf("has more than %d bytes", MaxCorrelation))
	}
	if len(v.Checkpoint) > MaxCheckpoint {
		f.bad("checkpoint", fmt.Sprintf("has more than %d bytes", MaxCheckpoint))
	}
	if !isNull(f.other("timeout")) {
		timeout := f.seconds("timeout")
		if timeout <= 0 && f.err == nil {
			f.bad("timeout", "is not above 0")
		}
		v.Timeout = &timeout
	}
	switch f.string("then") {
	case "", "resume":
	case "complete":
		v.Completes = true
	default:
		f.bad("then", "is neither resume nor complete")
	}
	return v
}

func (f *fields) percent() *float64 {
	if isNull(f.other("pct")) {
		return nil
	}
	percent := min(max(f.number("pct", 0), 0), 100)
	return &percent
}

func (f *fields) hello() *Hello {
	h := &Hello{Lib: f.string("lib"), Caps: f.strings("caps"), Threads: f.integer("threads", 0, 0, math.MaxInt32)}
	if versions := f.other("v"); isNull(versions) || !elements(versions, func(element []byte) {
		if v, ok := float(element); ok && v == math.Trunc(v) && v >= 0 && v <= math.MaxInt32 {
			h.Versions = append(h.Versions, int(v))
		}
	}) {
		f.bad("v", "is not a list of versions")
	}
	return h
}

func (f *fields) log() *LogRecord {
	record := &LogRecord{Level: "info"}
	members(f.line, func(name, value []byte) {
		switch string(name) {
		case "@", "run", "jid":
		case "level":
			if level := f.text(value); level != "" {
				record.Level = level
			}
		case "message":
			record.Message = f.text(value)
		default:
			record.Fields = append(record.Fields, Field{Name: string(name), Value: validUTF8(value)})
		}
	})
	return record
}

func (f *fields) put() *Put {
	p := &Put{
		Queue:     f.string("queue"),
		Klass:     f.string("klass"),
		Data:      f.raw(f.data),
		JID:       f.text(f.jid),
		IfExists:  f.ifExists(),
		Priority:  f.number("priority", 0),
		Tags:      f.strings("tags"),
		Depends:   f.strings("depends"),
		Timeout:   f.seconds("timeout"),
		Throttles: f.strings("throttles"),
		Bypass:    f.flag("bypass"),
		Windows:   f.strings("windows"),
		Zone:      f.string("zone"),
		Key:       f.text(f.other("key")),
		Merge:     f.string("merge"),
	}
	if p.Queue == "" {
		f.bad("queue", "is missing")
	}
	if len(p.Key) > MaxKey {
		f.bad("key", fmt.Sprintf("has more than %d bytes", MaxKey))
	}
	f.merges(p)
	if !isNull(f.other("weight")) {
		p.Weight = f.integer("weight", 0, 1, 100)
	}
	if p.Data == nil {
		p.Data = []byte("null")
	}
	if delay := f.wait(f.delay); delay != nil {
		p.Delay = *delay
	}
	if !isNull(f.other("retries")) {
		retries := f.integer("retries", 0, 0, math.MaxInt32)
		p.Retries = &retries
	}
	return p
}

// merges decodes what becomes of a put while a job of its key waits.
func (f *fields) merges(p *Put) {
	switch p.Merge {
	case "", "none", "all", "last", "first", "set":
	default:
		f.bad("merge", "is not one of none, all, last, first, set")
	}
	if !isNull(f.other("score")) {
		score := f.number("score", 0)
		p.Score = &score
	}
	switch {
	case p.Key == "" && (p.Merge != "" || p.Score != nil):
		f.bad("key", "is missing, without which nothing merges")
	case p.JID != "" && p.Merge != "" && p.Merge != "none":
		f.bad("merge", "and a jid exclude each other")
	}
}

func (f *fields) ifExists() string {
	word := f.string("if_exists")
	switch word {
	case "", "replace", "final", "never":
	default:
		f.bad("if_exists", "is not one of replace, final, never")
	}
	return word
}

// elements calls visit for each element of the array that text is. It returns
// false if text, a valid value, is none.
func elements(text []byte, visit func(element []byte)) bool {
	s := scanner{text: text}
	if !s.take('[') {
		return false
	}
	for !s.take(']') {
		s.take(',')
		s.space()
		start := s.pos
		if !s.value() {
			return false
		}
		visit(text[start:s.pos])
	}
	return true
}
