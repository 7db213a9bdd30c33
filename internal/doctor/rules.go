package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oarlock/queue"
)

// Rules looks at the rules in Redis: what cannot be read of them holds up all that they concern, and a worker that knows none passes limits.
func (d *Doctor) Rules(ctx context.Context) error {
	damaged, err := d.Client.DamagedRules(ctx, "")
	if err != nil {
		return d.hidden("rules", err)
	}
	for _, one := range damaged {
		text, then := one.String(), "until they can, nothing is taken that they concern"
		advice := "oarlock rules apply writes them anew, from the document that they were made of."
		switch {
		case one.Puts:
			then = "until it can, jobs are put as if nothing were said"
		case one.Queue == "" && one.Throttle == "":
			advice = "Then oarlock rules apply."
		}
		d.found(Bad, "rules", advice, "%s%s; %s.", strings.ToUpper(text[:1]), text[1:], then)
	}
	if err := d.deciders(ctx); err != nil {
		return d.hidden("rules", err)
	}
	strangers, err := d.Client.Strangers(ctx)
	if readable(err) != nil {
		return d.hidden("rules", err)
	}
	fair, err := d.fair(ctx, strangers)
	if readable(err) != nil {
		return d.hidden("rules", err)
	}
	for _, s := range strangers {
		turns := ""
		if fair[s.Queue] {
			turns = " The queue is fair: such a worker takes no turns and sees no job that waits for one."
		}
		d.found(Warning, "rules", "Have it load our script (oarlock lua), or let it work other queues; see docs/limits.md. An oarlock from before 22 November 2026 knows no rules and no needs, and says nothing of it: upgrade it.",
			"Worker %s took jobs of queue %s past its rules, last seen %s: it does not know them, or had the jobs before there were any, or somebody gave their places back by hand.%s", s.Worker, s.Queue, agoText(s.At, d.Client.Now()-s.At), turns)
	}
	return nil
}

// fair tells which queues of strangers are fair.
func (d *Doctor) fair(ctx context.Context, strangers []queue.Stranger) (map[string]bool, error) {
	var names []string
	for _, s := range strangers {
		names = append(names, s.Queue)
	}
	slices.Sort(names)
	all, _, err := d.Client.Fairness(ctx, slices.Compact(names)...)
	fair := map[string]bool{}
	for i := range all {
		fair[all[i].Queue] = all[i].Damage == ""
	}
	return fair, err
}

// deciders looks at commands that decide who may start, for which jobs wait.
func (d *Doctor) deciders(ctx context.Context) error {
	asking, err := d.Client.AskingThrottles(ctx)
	if err != nil {
		return readable(err)
	}
	for _, name := range asking {
		lists, err := d.Client.Waitlists(ctx, name)
		if err != nil {
			return readable(err)
		}
		one, err := d.Client.Decider(ctx, name)
		jobs := queue.JobsOf(lists)
		switch {
		case err != nil:
			return readable(err)
		case jobs == 0:
		case one.Seen+queue.DeciderMissed.Seconds() <= d.Client.Now():
			d.found(Warning, "rules", "Start one whose file has its command, or take the command away: oarlock rules rm throttles."+name+".",
				"Throttle %s asks a command who may start, and no supervisor that runs has it: %s.", name, waitWords(jobs))
		case one.Trouble != "":
			d.found(Warning, "rules", "Try it by hand: docs/limits.md says what it reads and prints.",
				"The command of throttle %s, asked by %s, decides nothing: %s; %s.", name, one.By, one.Trouble, waitWords(jobs))
		}
	}
	return nil
}

func waitWords(jobs int) string {
	if jobs == 1 {
		return "1 job waits for it"
	}
	return fmt.Sprintf("%d jobs wait for it", jobs)
}
