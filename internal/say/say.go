// Package say says one thing about a job from within it: it makes a status line, and finds the way to the supervisor that
// started the program. It owns neither. It must not know the command line, a configuration or Redis.
package say

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"oarlock/internal/screen"
	"oarlock/protocol"
)

// Field is one of a line.
type Field struct {
	Name string
	JSON string // its value; as somebody wrote it, perhaps
}

// Line is the line that says verb, of run unless that is "", with fields. It is understood by those who read it, or there
// is an error: an *UnsaidError if it is too much, else what is wrong with the fields.
func Line(verb, run string, fields []Field) ([]byte, error) {
	if run != "" {
		fields = slices.Insert(slices.Clone(fields), 0, Field{"run", screen.Compact(run)})
	}
	line, whole := `{"@":`+screen.Compact(verb), true
	for _, f := range fields {
		line += "," + screen.Compact(f.Name) + ":" + f.JSON
		whole = whole && protocol.Valid([]byte(f.JSON)) // or it could bring fields of its own
	}
	line += "}"
	said, ok := protocol.ParseStatus([]byte(line))
	switch {
	case !ok || !whole || strings.ContainsAny(line, "\r\n"):
		return nil, errors.New("the data is not JSON on one line\nA string needs its quotes: '\"text\"'")
	case said.Err != nil:
		return nil, said.Err
	case len(said.Data) > protocol.MaxCheckpoint:
		return nil, &UnsaidError{fmt.Sprintf("a checkpoint has at most %d bytes; this one has %d", protocol.MaxCheckpoint, len(said.Data))}
	}
	return []byte(line), nil
}

// Way is how a status line reaches the supervisor.
type Way struct {
	Run string // that a line has to name; "" where there is none to name

	out   io.Writer
	lead  string // in front of a line; a line feed where others print too, may not have ended theirs, and no run tells the line from theirs
	limit int    // of a line, in bytes
}

// WayOut finds the way that the environment shows; stdout is this process', and run what was given by hand, or "". The
// error is an *UnsaidError.
func WayOut(stdout io.Writer, run string) (Way, error) {
	w := Way{out: stdout, Run: cmp.Or(run, os.Getenv("OARLOCK_RUN")), limit: protocol.DefaultMaxLine}
	if w.Run == "" {
		w.lead = "\n"
	}
	if n, err := strconv.Atoi(os.Getenv("OARLOCK_MAX_LINE")); err == nil && n > 0 {
		w.limit = n
	}
	number, source := os.Getenv("OARLOCK_STATUS_FD"), os.Getenv("OARLOCK_STATUS")
	if source == "exit" {
		return w, &UnsaidError{`this pool looks at nothing but the exit code (status = "exit")`}
	}
	if fd, err := strconv.Atoi(number); err == nil && writable(fd) {
		w.out, w.lead = os.NewFile(uintptr(fd), "OARLOCK_STATUS_FD"), ""
		return w, nil
	}
	closed := fmt.Sprintf("the descriptor %s (OARLOCK_STATUS_FD) is not open here: who started this program must pass it on, as pass_fds=[%s] does in Python", number, number)
	switch {
	case source == "fd":
		return w, &UnsaidError{closed}
	case w.Run != "" || source == "lines":
		return w, nil
	case number != "":
		return w, &UnsaidError{closed + "; or name the run: --run, from the job line"}
	}
	return w, &UnsaidError{"this is no job: neither OARLOCK_STATUS_FD nor OARLOCK_RUN is in the environment"}
}

// writable tells whether descriptor fd is a pipe or socket that can be written to, as ours
// is. After it was closed its number may be that of anything.
func writable(fd int) bool {
	var stat unix.Stat_t
	if fd < 3 || unix.Fstat(fd, &stat) != nil || !slices.Contains([]uint32{unix.S_IFIFO, unix.S_IFSOCK}, stat.Mode&unix.S_IFMT) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

// Send writes line in one piece. The error is an *UnsaidError where nobody would read it.
func (w Way) Send(line []byte) error {
	if len(line) > w.limit {
		return &UnsaidError{fmt.Sprintf("the line has %d bytes, and this pool reads %d (max_line): leave it in a file, and say where", len(line), w.limit)}
	}
	_, err := w.out.Write(slices.Concat([]byte(w.lead), line, []byte("\n")))
	if errors.Is(err, unix.EPIPE) {
		return &UnsaidError{"nobody listens any more: the supervisor is gone"}
	}
	return err
}

// UnsaidError is why something cannot be said, however it is worded.
type UnsaidError struct{ why string }

func (e *UnsaidError) Error() string { return e.why }
