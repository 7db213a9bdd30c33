package protocol

import (
	"crypto/rand"
	"time"
)

// Job is what a child is told of one attempt.
type Job struct {
	Run        string        // random id of the attempt
	JID        string        // id of the job
	Klass      string        // class of the job: what is to be done
	Queue      string        // queue it came from
	Key        string        // orders the job among those of its key; empty: none, left out of the line
	Merge      string        // how what is put with Key merges: all or set, and Data is a list of payloads; last or first; empty: it does not, left out of the line
	Scores     []float64     // of the payloads, in the order of Data; with Merge only
	Data       []byte        // payload: the stored JSON, passed on byte for byte
	Tags       []string      // tags of the job; nil is an empty list
	Priority   float64       // higher runs earlier
	Attempt    int           // number of this attempt, from 1
	Retries    int           // attempts allowed after the first
	Remaining  int           // attempts left after this one
	Timeout    time.Duration // time this run may take; 0: no limit, left out of the line
	Lease      time.Duration // time left on the lock; 0: left out of the line
	Dir        string        // private directory; empty: left out of the line
	Checkpoint []byte        // JSON kept by an earlier attempt; nil: none

	Correlation string    // of the job; empty: none, left out of the line
	Response    *Response // what it waited for; nil: none, left out of the line
	// Callback is the address at which whoever is asked answers the job, if the correlation is added to it, percent-encoded; empty:
	// there is none, left out of the line. It is a secret, and good for this job alone.
	Callback string

	Trace *Trace // of which the attempt is part; nil: none, left out of the line
}

// Response is the answer that a job waited for.
type Response struct {
	Correlation string
	Data        []byte // JSON; not with Failed
	Failed      bool   // Error was answered instead of data
	Error       string
	Age         time.Duration // since it came
}

// NewRun draws the id of an attempt: 80 bits of chance, for it is also the secret by
// which a child proves that a line is its own word. Safe for concurrent use.
func NewRun() string { return rand.Text()[:16] }

// AppendJob appends the line that hands j to a child, line feed included, and
// returns the extended buffer.
//
// Data, Checkpoint and Response.Data must be JSON, as [Valid] says; they are embedded
// as they are, except that a line feed or carriage return between two tokens
// becomes a space, because it would end the line. Empty Data is sent as null.
// Text that is not UTF-8 gets replacement characters.
func AppendJob(dst []byte, j *Job) []byte {
	dst = append(dst, `{"@":"job",`...)
	return append(appendMembers(dst, j), '}', '\n')
}

// appendMembers appends what a child is told of j, as members of an object.
func appendMembers(dst []byte, j *Job) []byte {
	dst = append(dst, `"run":`...)
	dst = appendString(dst, j.Run)
	dst = append(dst, `,"jid":`...)
	dst = appendString(dst, j.JID)
	dst = append(dst, `,"klass":`...)
	dst = appendString(dst, j.Klass)
	dst = append(dst, `,"queue":`...)
	dst = appendString(dst, j.Queue)
	if j.Key != "" {
		dst = append(dst, `,"key":`...)
		dst = appendString(dst, j.Key)
	}
	dst = appendMerge(dst, j)
	dst = append(dst, `,"data":`...)
	dst = appendRaw(dst, j.Data)
	dst = append(dst, `,"tags":[`...)
	for i, tag := range j.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, tag)
	}
	dst = append(dst, `],"priority":`...)
	dst = appendNumber(dst, j.Priority)
	dst = append(dst, `,"attempt":`...)
	dst = appendInt(dst, j.Attempt)
	dst = append(dst, `,"retries":`...)
	dst = appendInt(dst, j.Retries)
	dst = append(dst, `,"remaining":`...)
	dst = appendInt(dst, j.Remaining)
	if j.Timeout > 0 {
		dst = append(dst, `,"timeout":`...)
		dst = appendSeconds(dst, j.Timeout)
	}
	if j.Lease > 0 {
		dst = append(dst, `,"lease":`...)
		dst = appendSeconds(dst, j.Lease)
	}
	if j.Dir != "" {
		dst = append(dst, `,"dir":`...)
		dst = appendString(dst, j.Dir)
	}
	if len(j.Checkpoint) > 0 {
		dst = append(dst, `,"checkpoint":`...)
		dst = appendRaw(dst, j.Checkpoint)
	}
	if j.Correlation != "" {
		dst = append(dst, `,"correlation":`...)
		dst = appendString(dst, j.Correlation)
	}
	if j.Callback != "" {
		dst = append(dst, `,"callback":`...)
		dst = appendString(dst, j.Callback)
	}
	if j.Response != nil {
		dst = appendResponse(dst, j.Response)
	}
	if j.Trace != nil {
		dst = appendTrace(dst, j.Trace)
	}
	return dst
}

func appendMerge(dst []byte, j *Job) []byte {
	if j.Merge == "" {
		return dst
	}
	dst = append(dst, `,"merge":`...)
	dst = appendString(dst, j.Merge)
	dst = append(dst, `,"scores":[`...)
	for i, score := range j.Scores {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNumber(dst, score)
	}
	return append(dst, ']')
}

func appendTrace(dst []byte, t *Trace) []byte {
	dst = append(dst, `,"traceparent":`...)
	dst = appendString(dst, t.Parent)
	if t.State != "" {
		dst = append(dst, `,"tracestate":`...)
		dst = appendString(dst, t.State)
	}
	return dst
}

func appendResponse(dst []byte, r *Response) []byte {
	dst = append(dst, `,"response":{"correlation":`...)
	dst = appendString(dst, r.Correlation)
	if r.Failed {
		dst = append(dst, `,"error":`...)
		dst = appendString(dst, r.Error)
	} else {
		dst = append(dst, `,"data":`...)
		dst = appendRaw(dst, r.Data)
	}
	dst = append(dst, `,"age":`...)
	dst = appendSeconds(dst, r.Age)
	return append(dst, '}')
}

// AppendData appends only the payload of j as a line: the form for a pool whose
// input is "data". What AppendJob says of Data holds here too.
func AppendData(dst []byte, j *Job) []byte {
	return append(appendRaw(dst, j.Data), '\n')
}
