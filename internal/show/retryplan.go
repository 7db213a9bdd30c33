package show

import (
	"io"
	"strconv"
	"time"

	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// RetryWait is one line of a plan of retries; the waits are in seconds.
type RetryWait struct {
	Failure int     `json:"failure"` // which, from 1
	Least   float64 `json:"least"`
	Mean    float64 `json:"mean"`
	Most    float64 `json:"most"`
	Sum     float64 `json:"sum"` // of the means so far
}

// PlanOf says how long a job waits after each of so many failures.
func PlanOf(r supervisor.Retry, retries int) []RetryWait {
	plan, sum := make([]RetryWait, retries), 0.0
	for n := range plan {
		w := r.WaitAfter(n)
		sum += w.Mean.Seconds()
		plan[n] = RetryWait{n + 1, w.Least.Seconds(), w.Mean.Seconds(), w.Most.Seconds(), sum}
	}
	return plan
}

// RetryPlan shows a plan.
func RetryPlan(w io.Writer, plan []RetryWait) {
	var rows [][]string
	for _, p := range plan {
		rows = append(rows, []string{strconv.Itoa(p.Failure), wait(p.Least), wait(p.Mean), wait(p.Most), wait(p.Sum)})
	}
	screen.Table(w, "Without retries a job fails at once.", []string{"FAILURE", "LEAST WAIT", "MEAN", "LONGEST", "MEAN SINCE THE FIRST"}, rows)
	if n := len(plan); n > 0 {
		screen.Printf(w, "With %d retries a job fails for good after %s of waiting, on the average; a delay that a child names itself takes the place of its wait.\n", n, wait(plan[n-1].Sum))
	}
}

// wait is a number of seconds in words.
func wait(seconds float64) string { return screen.Span(time.Duration(seconds * float64(time.Second))) }
