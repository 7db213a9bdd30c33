package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// replyError is an error reply of a server, as the driver returns it.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func TestClassify(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	tests := []struct {
		name    string
		command string
		err     error
		class   ErrorClass
		is      error // matched by errors.Is; nil for none of the sentinels
	}{
		{"no error", "get", nil, Success, nil},
		{"refused, redis 7", "get", replyError("ERR user_script:12: Tag(): Job j does not exist script: 1234, on @user_script:12."), Refused, ErrNoJob},
		{"refused, redis 6", "complete", replyError("ERR Error running script (call to f_12): @user_script:9: user_script:9: Complete(): Job j has been handed out to another worker: w"), Refused, ErrLockLost},
		{"refused, embedded", "heartbeat", replyError("ERR Error compiling script (new function): :1: Heartbeat(): Job j not currently running: waiting stack traceback: x"), Refused, ErrLockLost},
		{"refused, of redis itself", "pause", replyError("ERR wrong number of arguments for 'sadd' command"), Refused, nil},
		{"wrong type", "get", replyError("WRONGTYPE Operation against a key"), Refused, nil},
		{"script flushed again and again", "get", replyError("NOSCRIPT No matching script."), Busy, ErrAway},
		{"long script", "get", replyError("BUSY Redis is busy running a script."), Busy, ErrAway},
		{"loading", "get", replyError("LOADING Redis is loading the dataset in memory"), Loading, ErrAway},
		{"no master", "get", replyError("MASTERDOWN Link with MASTER is down"), Loading, ErrAway},
		{"demoted", "get", replyError("READONLY You can't write against a read only replica."), ReadOnly, ErrAway},
		{"out of memory", "put", replyError("OOM command not allowed when used memory > 'maxmemory'."), Memory, ErrAway},
		{"out of memory in a script", "put", replyError("ERR user_script:3: OOM command not allowed when used memory > 'maxmemory'. script: 12, on @user_script:3."), Memory, ErrAway},
		{"disk full", "put", replyError("MISCONF Errors writing to the AOF file: No space left on device"), Disk, ErrAway},
		{"no password", "get", replyError("NOAUTH Authentication required."), Denied, ErrAway},
		{"bad password", "get", replyError("WRONGPASS invalid username-password pair"), Denied, ErrAway},
		{"not permitted", "get", replyError("NOPERM this user has no permissions"), Denied, ErrAway},
		{"too many clients", "get", replyError("ERR max number of clients reached"), Busy, ErrAway},
		{"refused connection", "get", fmt.Errorf("pool: %w", dial), Unreachable, ErrAway},
		{"closed client", "get", redis.ErrClosed, Unreachable, ErrAway},
		{"no free connection", "get", redis.ErrPoolTimeout, Busy, ErrAway},
		{"cut", "get", io.EOF, Doubt, ErrDoubt},
		{"time was up", "get", context.DeadlineExceeded, Doubt, ErrDoubt},
		{"read timeout", "get", &net.OpError{Op: "read", Err: errors.New("i/o timeout")}, Doubt, ErrDoubt},
		{"ours", "get", errors.New("unknown order"), Doubt, ErrDoubt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", classify(tt.command, tt.err))
			if tt.err == nil {
				err = nil
			}
			if got := Class(err); got != tt.class {
				t.Errorf("class of %v is %v, want %v", err, got, tt.class)
			}
			for _, sentinel := range []error{ErrLockLost, ErrNoJob, ErrDoubt, ErrAway} {
				if errors.Is(err, sentinel) != (sentinel == tt.is) {
					t.Errorf("errors.Is(%v, %v) = %v", err, sentinel, !errors.Is(err, sentinel))
				}
			}
		})
	}
}

func TestHarmlessDoubtIsNone(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", harmless(classify("time", io.EOF)))
	if !errors.Is(err, ErrAway) || errors.Is(err, ErrDoubt) || Class(err) != Unreachable {
		t.Errorf("%v is %v", err, Class(err))
	}
	if err := harmless(classify("time", replyError("OOM command not allowed"))); Class(err) != Memory {
		t.Errorf("%v is %v", err, Class(err))
	}
}
