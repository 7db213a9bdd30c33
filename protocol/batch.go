package protocol

import "time"

// Batch is what a child is told of several attempts in one message.
type Batch struct {
	Run   string // random id of the message: a verdict that names it is about all of Jobs that have none
	Klass string // of all its jobs
	// Jobs are 1 to [MaxBatch]. Their Timeout, Lease and Dir do not count: those of the batch do.
	Jobs    []*Job
	Timeout time.Duration // as in Job, of all together
	Lease   time.Duration // as in Job, the shortest
	Dir     string        // as in Job
}

// AppendBatch appends the line that hands the jobs of b to a child, line feed included, and
// returns the extended buffer. What [AppendJob] says of Data and the like holds for each of them.
func AppendBatch(dst []byte, b *Batch) []byte {
	dst = append(dst, `{"@":"batch","run":`...)
	dst = appendString(dst, b.Run)
	dst = append(dst, `,"klass":`...)
	dst = appendString(dst, b.Klass)
	if b.Timeout > 0 {
		dst = append(dst, `,"timeout":`...)
		dst = appendSeconds(dst, b.Timeout)
	}
	if b.Lease > 0 {
		dst = append(dst, `,"lease":`...)
		dst = appendSeconds(dst, b.Lease)
	}
	if b.Dir != "" {
		dst = append(dst, `,"dir":`...)
		dst = appendString(dst, b.Dir)
	}
	dst = append(dst, `,"jobs":[`...)
	for i, j := range b.Jobs {
		if i > 0 {
			dst = append(dst, ',')
		}
		job := *j
		job.Timeout, job.Lease, job.Dir = 0, 0, ""
		dst = append(dst, '{')
		dst = append(appendMembers(dst, &job), '}')
	}
	return append(dst, ']', '}', '\n')
}
