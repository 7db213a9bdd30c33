package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osuser "os/user"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Settings is what a child gets of its own between fork and exec. The zero value asks for nothing.
type Settings struct {
	Dir         string   `json:"dir,omitempty"`   // working directory, entered as the child's user; empty: the supervisor's
	Umask       *int     `json:"umask,omitempty"` // nil: the supervisor's
	Nice        int      `json:"nice,omitempty"`
	OOMScoreAdj int      `json:"oom,omitempty"`
	User        *User    `json:"user,omitempty"` // nil: the supervisor's
	NoNewPrivs  bool     `json:"nnp,omitempty"`
	Limits      []Rlimit `json:"limits,omitempty"`

	// What no process can set itself.

	Memory uint64        `json:"-"` // what its control group may hold, in bytes; 0: any
	Until  time.Duration `json:"-"` // when its lease ends; 0: it has none
}

// User is a user and group by number. A child that gets one has no supplementary groups.
type User struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Rlimit is one resource limit, soft and hard alike, so that the child cannot raise it again.
type Rlimit struct {
	Resource int    `json:"r"`
	Max      uint64 `json:"m"`
}

// pair returns the soft and the hard limit. They are the same but for processor time, where the hard
// one kills outright: a second more lets the program, and us, see SIGXCPU first.
func (l Rlimit) pair() syscall.Rlimit {
	if l.Resource == unix.RLIMIT_CPU {
		return syscall.Rlimit{Cur: l.Max, Max: l.Max + 1}
	}
	return syscall.Rlimit{Cur: l.Max, Max: l.Max}
}

// Nothing says that a child can be started without the shim: what s asks for, os/exec does.
func (s *Settings) Nothing() bool {
	return !holdsAmbient() && s.Umask == nil && s.Nice == 0 && s.OOMScoreAdj == 0 && s.User == nil && !s.NoNewPrivs && len(s.Limits) == 0
}

// LookUp returns the user and group that name and group stand for; nil if neither is given.
// Either may be a number.
func LookUp(name, group string) (*User, error) {
	if name == "" && group == "" {
		return nil, nil
	}
	u := User{UID: os.Getuid(), GID: os.Getgid()}
	if name != "" {
		entry, err := osuser.Lookup(name)
		if err != nil {
			entry, err = osuser.LookupId(name)
		}
		number, numberErr := strconv.Atoi(name)
		switch {
		case err == nil:
			u.UID, _ = strconv.Atoi(entry.Uid)
			u.GID, _ = strconv.Atoi(entry.Gid)
		case numberErr == nil && group != "": // a number needs no entry, given a group
			u.UID = number
		default:
			return nil, fmt.Errorf("there is no user %q here", name)
		}
	}
	if group != "" {
		entry, err := osuser.LookupGroup(group)
		if err == nil {
			group = entry.Gid
		}
		if u.GID, err = strconv.Atoi(group); err != nil {
			return nil, fmt.Errorf("there is no group %q here", group)
		}
	}
	return &u, nil
}

// apply puts s into force for this thread and what it starts or becomes, in an order in which no step
// takes away the right to do a later one. The limits are left to setLimits.
func (s *Settings) apply() error {
	if s.Umask != nil {
		syscall.Umask(*s.Umask)
	}
	if err := setOOMScoreAdj(os.Getpid(), s.OOMScoreAdj); err != nil {
		return err
	}
	if s.Nice != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, s.Nice); err != nil {
			return fmt.Errorf("set nice to %d: %w", s.Nice, err)
		}
	}
	if s.User != nil {
		if err := s.User.become(); err != nil {
			return err
		}
	}
	if s.Dir != "" {
		if err := os.Chdir(s.Dir); err != nil {
			return fmt.Errorf("enter the working directory: %w", err)
		}
	}
	if s.NoNewPrivs {
		if err := gainNoPrivileges(); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	return dropAmbient()
}

// become changes user and group for good and drops all supplementary groups.
func (u *User) become() error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop supplementary groups: %w (only root may change users)", err)
	}
	return becomeIDs(u.UID, u.GID)
}

// setOOMScoreAdj makes pid a likelier (or, with the right to, an unlikelier) victim when memory runs
// out. Where pid is a likelier victim already and we may not change that, it stays so: what adj >= 0
// asks for, that children go before their supervisor, holds anyway.
func setOOMScoreAdj(pid, adj int) error {
	if adj == 0 {
		return nil
	}
	file := "/proc/" + strconv.Itoa(pid) + "/oom_score_adj"
	err := os.WriteFile(file, []byte(strconv.Itoa(adj)), 0)
	if errors.Is(err, fs.ErrPermission) && adj > 0 {
		if text, readErr := os.ReadFile(file); readErr == nil {
			if now, _ := strconv.Atoi(string(bytes.TrimSpace(text))); now >= adj {
				return nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("set oom_score_adj to %d: %w", adj, err)
	}
	return nil
}

// setLimits limits this process. A limit above a hard one that we may not raise becomes that one.
func setLimits(limits []Rlimit) error {
	for _, l := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &now); err != nil {
			return fmt.Errorf("read limit %d: %w", l.Resource, err)
		}
		// By package syscall: Setrlimit of x/sys would leave the runtime to restore, at exec, the
		// number of files it found at start.
		want := l.pair()
		err := syscall.Setrlimit(l.Resource, &want)
		if errors.Is(err, syscall.EPERM) && want.Max > now.Max {
			err = syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: min(want.Cur, now.Max), Max: now.Max})
		}
		if err != nil {
			return fmt.Errorf("limit %s to %d: %w", limitNames[l.Resource], l.Max, err)
		}
	}
	return nil
}

// limitNames are the resources a pool may limit, under the names of its configuration.
var limitNames = map[int]string{
	unix.RLIMIT_NOFILE: "nofile",
	unix.RLIMIT_CORE:   "core",
	unix.RLIMIT_CPU:    "cpu",
	unix.RLIMIT_FSIZE:  "fsize",
}
