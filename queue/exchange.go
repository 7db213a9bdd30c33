package queue

import (
	"encoding/json"
	"time"
)

// exchangeArgs writes an Exchange as the script reads it: the worker, how many
// settlements, each with its puts, then the take.
func exchangeArgs(worker string, settlements []Settlement, puts [][]Put, take Take) []any {
	args := make([]any, 0, 8+6*len(settlements)+len(take.Queues))
	args = append(args, worker, len(settlements))
	for i := range settlements {
		args = appendSettlement(args, &settlements[i])
		args = appendPuts(args, puts[i])
	}
	order := take.Order
	if order == "" {
		order = Ordered
	}
	args = append(args, string(order), take.Cursor, take.Count, take.MaxJob)
	for _, q := range take.Queues {
		args = append(args, q)
	}
	return args
}

// appendSettlement writes jid, queue, popped, action, the number of options and so
// many names and values. What is not given is not sent: nearly all settlements are a
// bare complete.
func appendSettlement(args []any, s *Settlement) []any {
	args = append(args, s.JID, s.Queue, mark(s.Popped), string(s.Action))
	at := len(args)
	args = append(args, 0)
	option := func(name string, value any) { args = append(args, name, value) }
	if s.Data != nil {
		option("data", s.Data)
	}
	if s.Next != "" {
		option("next", s.Next)
	}
	if s.Depends != nil {
		option("depends", jsonList(s.Depends))
	}
	if s.Delay > 0 {
		option("delay", number(s.Delay.Seconds()))
	}
	if s.Group != "" || s.Action == Fail {
		option("group", s.Group)
		option("message", s.Message)
	}
	if s.Counter != CountNothing {
		option("counter", string(s.Counter))
		option("max-crashes", s.MaxCrashes)
	}
	if s.Front {
		option("front", "1")
	}
	if s.Checkpoint != nil {
		option("checkpoint", s.Checkpoint)
	}
	if s.Record != nil {
		option("record", s.Record)
	}
	args[at] = (len(args) - at - 1) / 2
	return args
}

// readExchange reads the reply: one list of results, one of jobs, one of broken
// entries, when the next job is due, and the cursor. The results hold what is known of
// them already.
func readExchange(raw any, now float64, known []SettleResult) (Reply, error) {
	in := replyReader{items: asList(raw)}
	reply := Reply{Now: now, Results: known}
	results := replyReader{items: in.list()}
	jobs := replyReader{items: in.list()}
	broken := replyReader{items: in.list()}
	reply.NextDue, reply.Cursor = in.float(), in.int()
	for i := range reply.Results {
		if reply.Results[i].Err == nil {
			readResult(&results, &reply.Results[i])
		}
	}
	reply.Jobs = make([]Taken, 0, len(jobs.items)/takenWidth)
	for len(jobs.items) > 0 && jobs.err == nil {
		job := readTaken(&jobs)
		job.Popped = now
		reply.Jobs = append(reply.Jobs, job)
	}
	for len(broken.items) > 0 && broken.err == nil {
		reply.Broken = append(reply.Broken, Broken{broken.text(), broken.text(), refusalText(broken.text())})
	}
	for _, part := range []replyReader{in, results, jobs, broken} {
		if part.err != nil {
			return Reply{}, part.err
		}
	}
	return reply, nil
}

// readResult reads the state the job came to, if that is complete; else a list of the
// state, or "lost" or "refused", the reason for these, two counts, and what became of the puts.
func readResult(in *replyReader, r *SettleResult) {
	more := in.nested()
	if more == nil {
		r.State = in.text()
		return
	}
	state, reason := more.text(), more.text()
	if state == "lost" || state == "refused" {
		*r = SettleResult{Err: settleError("settle", state, reason)}
		return
	}
	r.State, r.Remaining, r.Crashes = state, more.int(), more.int()
	if len(r.Puts) > 0 {
		puts := &replyReader{items: more.list()}
		readPuts(puts, r.Puts)
		if more.err == nil {
			more.err = puts.err
		}
	}
	if in.err == nil {
		in.err = more.err
	}
}

// takenWidth is how many values a taken job has in a reply.
const takenWidth = 12

// readTaken reads one job, in the order in which the scripts write its fields.
func readTaken(in *replyReader) Taken {
	t := Taken{
		JID:       in.text(),
		Queue:     in.text(),
		Klass:     in.text(),
		Data:      in.bytes(),
		Size:      int64(in.int()),
		Tags:      parseTags(in.text()),
		Priority:  in.float(),
		Retries:   in.int(),
		Remaining: in.int(),
		Expires:   in.float(),
		Put:       in.float(),
	}
	if ours := (replyReader{items: in.list()}); len(ours.items) > 0 {
		t.Crashes, t.Interruptions, t.Releases = ours.int(), ours.int(), ours.int()
		t.Checkpoint = ours.bytes()
		t.Timeout = time.Duration(ours.float() * float64(time.Second))
		if ours.err != nil {
			in.err = ours.err
		}
	}
	return t
}

// parseTags reads a job's tags: {} is how the scripts write none, and a number is kept
// as a number. What cannot be read is none.
func parseTags(text string) []string {
	if text == "" || text == "{}" || text == "[]" {
		return nil
	}
	var tags []any
	if json.Unmarshal([]byte(text), &tags) != nil {
		return nil
	}
	list := make([]string, 0, len(tags))
	for _, tag := range tags {
		switch tag := tag.(type) {
		case string:
			list = append(list, tag)
		case float64:
			list = append(list, number(tag))
		}
	}
	return list
}
