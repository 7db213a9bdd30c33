package doctor

import (
	"context"
	"math"
	"time"

	"oarlock/queue"
)

const (
	// cronsUnseen is how long nobody has looked for runs that are due when nobody is there.
	cronsUnseen = 30 * time.Second
	// cronLate is how long a run is due that nobody puts, though somebody looks.
	cronLate = 2 * time.Minute
	// cronMissed is how long ago a run was missed that is worth telling.
	cronMissed = 7 * 24 * time.Hour
	// clockAhead is how far ahead the last run may be.
	clockAhead = time.Minute
	// cronOrphan is how long a file was not seen that may be gone for good.
	cronOrphan = 24 * time.Hour
)

// Crons looks at recurring jobs that supervisors put: whether one is there to do so, and what was
// not put.
func (d *Doctor) Crons(ctx context.Context) error {
	crons, err := d.Client.Crons(ctx)
	if err != nil || len(crons) == 0 {
		return d.hiddenCrons(err)
	}
	seen, err := d.Client.CronsSeen(ctx)
	if err != nil {
		return d.hiddenCrons(err)
	}
	now, wrong := d.Client.Now(), false
	if unseen := now - seen; unseen > cronsUnseen.Seconds() {
		wrong = true
		d.found(Bad, "recurring", "Start one: oarlock run. Those of a version that does not know recurring jobs with a schedule do not put them.",
			"No supervisor puts the runs of recurring jobs (there are %d); the last that did was there: %s.", len(crons), agoText(seen, unseen))
	}
	for _, c := range crons {
		wrong = d.cron(c, now, now-seen) || wrong
	}
	if !wrong {
		d.found(OK, "recurring", "", "A supervisor puts the runs of recurring jobs (there are %d).", len(crons))
	}
	return nil
}

// hiddenCrons is nil if there was no error, or only one of permissions or types.
func (d *Doctor) hiddenCrons(err error) error {
	if readable(err) == nil {
		return nil // types tells of it
	}
	return d.hidden("recurring", err)
}

// cron looks at one, and reports whether it puts nothing; unseen is how long nobody has looked for
// what is due, in seconds.
func (d *Doctor) cron(c queue.Cron, now, unseen float64) (wrong bool) {
	const subject = "recurring"
	if c.Damage != "" {
		d.found(Bad, subject, "oarlock recur rm it, and make it anew.", "%s puts nothing: %s.", c.Name, c.Damage)
		return true
	}
	late := now - c.Next
	if !c.Paused && late > cronLate.Seconds() && !math.IsInf(c.Next, 0) && unseen < cronsUnseen.Seconds() {
		wrong = true
		d.found(Bad, subject, "The log of a supervisor says why; the oldest of them may not know its schedule.",
			"A run of %s was due %s, and nobody puts it.", c.Name, agoText(c.Next, late))
	}
	if ahead := c.Last - now; ahead > clockAhead.Seconds() {
		d.found(Warning, subject, "Let Redis' host take its time from NTP. `oarlock recur pause`, then `resume`, reckons the next run anew.",
			"%s ran as of %s, which is to come: the clock of Redis was ahead. Its next run is %s.", c.Name, time.Unix(int64(c.Last), 0).Format(time.DateTime), time.Unix(int64(c.Next), 0).Format(time.DateTime))
	}
	if c.GivenUp > 0 && now-c.MissedAt < cronMissed.Seconds() {
		d.found(Warning, subject, `missed = "run-all" makes up for such runs, "run-once" for the last of them.`,
			"%d runs of %s were missed, as was noticed %s: no supervisor was there when they were due.", c.GivenUp, c.Name, agoText(c.MissedAt, now-c.MissedAt))
	}
	if c.FromFile && unseen < cronsUnseen.Seconds() && c.Seen > 0 && now-c.Seen > cronOrphan.Seconds() {
		d.found(Warning, subject, "oarlock recur rm ends it, if the file is gone for good.",
			"%s stood in a file that no supervisor has any more (last: %s), and recurs all the same.", c.Name, agoText(c.Seen, now-c.Seen))
	}
	return wrong
}

// agoText tells a moment and how long ago that was; 0 is never.
func agoText(at, ago float64) string {
	if at == 0 {
		return "never"
	}
	return time.Unix(int64(at), 0).Format(time.DateTime) + ", " + queue.Duration(ago).Round(time.Second).String() + " ago"
}
