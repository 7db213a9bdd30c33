package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// sorts are by what a page can be sorted, as the frame says.
var sorts = [...][]string{
	pagePools:    {"name", "oldest", "busy"},
	pageQueues:   {"waiting", "name", "running"},
	pageFailures: {"count", "name"},
	pageHosts:    {"host", "busy"},
}

// pools are those of the supervisor that the filter lets pass, in order.
func (m *model) pools() []supervisor.PoolSnapshot {
	if m.world.status == nil {
		return nil
	}
	var pools []supervisor.PoolSnapshot
	for _, p := range m.world.status.Pools {
		if m.page != pagePools || m.passes(p.Name) {
			pools = append(pools, p)
		}
	}
	slices.SortStableFunc(pools, func(a, b supervisor.PoolSnapshot) int {
		switch sorts[pagePools][m.sort[pagePools]] {
		case "oldest":
			return cmp.Compare(b.Oldest, a.Oldest)
		case "busy":
			return busy(&b) - busy(&a)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return pools
}

// busy is how many children of a pool have a job.
func busy(p *supervisor.PoolSnapshot) (n int) {
	for _, s := range p.Slots {
		if len(s.Runs) > 0 {
			n++
		}
	}
	return n
}

// queues are those that the filter lets pass, in order.
func (m *model) queues() []ops.Queue {
	var queues []ops.Queue
	for _, q := range m.world.queues {
		if m.page != pageQueues || m.passes(q.Name) {
			queues = append(queues, q)
		}
	}
	slices.SortStableFunc(queues, func(a, b ops.Queue) int {
		switch sorts[pageQueues][m.sort[pageQueues]] {
		case "waiting":
			return cmp.Or(b.Backlog()-a.Backlog(), b.Running-a.Running, strings.Compare(a.Name, b.Name))
		case "running":
			return cmp.Or(b.Running-a.Running, strings.Compare(a.Name, b.Name))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return queues
}

// groups are those that the filter lets pass, in order.
func (m *model) groups() []group {
	var groups []group
	for _, g := range m.world.groups {
		if m.page != pageFailures || m.passes(g.name) {
			groups = append(groups, g)
		}
	}
	if sorts[pageFailures][m.sort[pageFailures]] == "name" {
		slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.name, b.name) })
	}
	return groups
}

// hosts are the supervisors that answered and that the filter lets pass, in order.
func (m *model) hosts() []rollcall.Answer {
	var hosts []rollcall.Answer
	for _, a := range m.world.roll.Items {
		if m.page != pageHosts || m.passes(a.Host+" "+a.Status.Name) {
			hosts = append(hosts, a)
		}
	}
	if sorts[pageHosts][m.sort[pageHosts]] == "busy" {
		slices.SortStableFunc(hosts, func(a, b rollcall.Answer) int { return b.Sums.Busy - a.Sums.Busy })
	}
	return hosts
}

// names are the names of the rows of a page, in their order.
func (m *model) names(of page) (names []string) {
	switch of {
	case pagePools:
		for _, p := range m.pools() {
			names = append(names, p.Worker)
		}
	case pageQueues:
		for _, q := range m.queues() {
			names = append(names, q.Name)
		}
	case pageFailures:
		for _, g := range m.groups() {
			names = append(names, g.name)
		}
	case pageHosts:
		for _, a := range m.hosts() {
			names = append(names, hostName(a))
		}
	}
	return names
}

func hostName(a rollcall.Answer) string {
	return fmt.Sprintf("%s/%s/%d", a.Host, a.Status.Name, a.Status.PID)
}

// slotNames are the names of the rows of the pool that is chosen.
func (m *model) slotNames() (names []string) {
	if p := m.pool(); p != nil {
		for i := range p.Slots {
			names = append(names, slotName(p, i))
		}
	}
	return names
}

// jobNames are the jids of the group that is chosen, as far as they are known.
func (m *model) jobNames() (names []string) {
	if m.world.jobsOf == m.chosen[pageFailures] {
		for _, j := range m.world.jobs {
			names = append(names, j.JID)
		}
	}
	return names
}

var poolColumns = []column{{name: "POOL"}, {name: "STATE", most: 22}, {name: "BUSY", right: true, most: 9}, {name: "RDY", right: true, most: 5}, {name: "GEN", right: true, most: 9, rank: 4},
	{name: "DONE/S", right: true, most: 8, rank: 2}, {name: "FAIL%", right: true, most: 6, rank: 3}, {name: "OLDEST", right: true, most: 8, rank: 1}, {name: "QUEUES", rank: 5}}

func (m *model) poolRows() (rows []row) {
	for _, p := range m.pools() {
		state, style := poolState(&p)
		ready, generation := 0, fmt.Sprint(p.Generation)
		for _, s := range p.Slots {
			if s.State == "ready" {
				ready++
			}
		}
		if p.Roll != nil {
			generation = fmt.Sprintf("%d→%d", p.Roll.From, p.Roll.To)
		}
		done, failed := m.world.rates(p.Name)
		oldest := "-"
		if p.Ready > 0 && p.List == nil { // entries of a list do not tell since when they wait
			oldest = screen.Seconds(p.Oldest)
		}
		rows = append(rows, row{
			cells: []string{p.Name, state, fmt.Sprintf("%d/%d", busy(&p), p.Children), fmt.Sprint(ready), generation, number(done),
				strings.TrimSuffix(failing(done, failed), " %"), oldest, p.Works()},
			style: style, marked: p.Worker == m.chosen[pagePools],
		})
	}
	return rows
}

// poolState is what is to be known first of a pool.
func poolState(p *supervisor.PoolSnapshot) (string, lipgloss.Style) {
	switch {
	case p.Barren != "", p.Abstains != "" && !p.Draining:
		return "▲ takes nothing", red
	case p.Breaker != "":
		return "▲ breaker", red
	case p.Draining:
		return "leaving", yellow
	case p.Roll != nil && p.Roll.OnTrial:
		return fmt.Sprintf("on trial %d/%d", p.Roll.Changed, p.Roll.Of), yellow
	case p.Roll != nil:
		return fmt.Sprintf("rolling %d/%d", p.Roll.Changed, p.Roll.Of), yellow
	case p.GivenUp != nil:
		return "▲ roll given up", red
	case len(p.Damaged) > 0:
		return "▲ leaves out", red
	case p.Quiet:
		return "quiet", yellow
	}
	return "works", plain
}

var slotColumns = []column{{name: "SLOT", right: true, most: 6}, {name: "STATE", most: 10}, {name: "PID", right: true, most: 8, rank: 5}, {name: "GEN", right: true, most: 5, rank: 8},
	{name: "AGE", right: true, most: 8, rank: 7}, {name: "JOBS", right: true, most: 9, rank: 6}, {name: "MEMORY", right: true, most: 9, rank: 4},
	{name: "JOB"}, {name: "TRY", right: true, most: 4, rank: 3}, {name: "FOR", right: true, most: 8}, {name: "LEFT", right: true, most: 8, rank: 2}, {name: "PROGRESS", rank: 1}}

func (m *model) slotRows(p *supervisor.PoolSnapshot) (rows []row) {
	for i := range p.Slots {
		s := &p.Slots[i]
		r := row{cells: slotCells(s), marked: m.below && slotName(p, i) == m.second[0]}
		switch s.State {
		case "ready", "staying":
			r.style = dim
		case "backoff", "blocked":
			r.style = red
		}
		rows = append(rows, r)
	}
	return rows
}

// marks are the states of slots as shapes, beside their words.
var marks = map[string]string{"busy": "●", "ready": "○", "staying": "○", "backoff": "▲", "blocked": "▲"}

func slotCells(s *supervisor.SlotSnapshot) []string {
	mark := cmp.Or(marks[s.State], "◐")
	cells := []string{fmt.Sprint(s.Slot), mark + " " + s.State, "", fmt.Sprint(s.Generation), "", screen.Count(s.Jobs), "", "", "", "", "", ""}
	if s.PID != 0 {
		cells[2], cells[4] = fmt.Sprint(s.PID), screen.Seconds(s.Age)
	}
	if s.State == "backoff" {
		cells[4] = "in " + screen.Seconds(s.Next)
	}
	if s.Memory > 0 {
		cells[6] = screen.Count(int(s.Memory>>20)) + "M"
	}
	if len(s.Runs) > 0 {
		run := s.Runs[0]
		cells[7], cells[8], cells[9] = cmp.Or(s.Together(), run.Klass+" "+shortJID(run.JID)), fmt.Sprintf("a%d", run.Attempt), screen.Seconds(run.Age)
		if kept := s.Kept(); kept > 0 {
			cells[7] += fmt.Sprintf(" +%d", kept)
		}
		if run.TimeoutLeft > 0 {
			cells[10] = screen.Seconds(run.TimeoutLeft)
		}
		cells[11] = progress(&run)
	}
	return cells
}

// shortJID is enough of a jid to know it by; why and the questions say all of it.
func shortJID(jid string) string {
	if len(jid) <= 12 {
		return jid
	}
	return shown(jid, 9)
}

// progress is how far a run is, by its own word.
func progress(run *supervisor.RunSnapshot) string {
	var told []string
	if run.Stopping != "" {
		told = append(told, "stopping: "+run.Stopping)
	}
	if run.Percent != nil {
		const wide = 8
		full := int(min(max(*run.Percent, 0), 100) / 100 * wide)
		told = append(told, strings.Repeat("▓", full)+strings.Repeat("░", wide-full)+fmt.Sprintf(" %.0f %%", *run.Percent))
	}
	if run.Progress != "" {
		told = append(told, `"`+run.Progress+`"`)
	}
	return strings.Join(told, "  ")
}

var queueColumns = []column{{name: "QUEUE"}, {name: "WAITING", right: true, most: 11}, {name: "RUNNING", right: true, most: 9}, {name: "STALLED", right: true, most: 9, rank: 3},
	{name: "SCHEDULED", right: true, most: 11, rank: 1}, {name: "DEPENDS", right: true, most: 9, rank: 4}, {name: "THROTTLED", right: true, most: 9, rank: 5}, {name: "", rank: 2}}

func (m *model) queueRows() (rows []row) {
	for _, q := range m.queues() {
		remark, style := "", plain
		switch {
		case q.Damage != "":
			remark, style = "▲ cannot be read: "+q.Damage, red
		case q.Paused:
			remark, style = "paused", yellow
		case m.deserted(&q):
			remark, style = "▲ no supervisor listens to it", red
			if q.Unserved > 0 {
				remark += ", the next waits for " + screen.Seconds(q.Unserved)
			}
		case q.Unserved > 0:
			remark, style = "▲ none runs, the next waits for "+screen.Seconds(q.Unserved), red
		case q.Outlook != nil:
			remark = outlookWords(*q.Outlook)
		}
		rows = append(rows, row{
			cells: []string{q.Name, screen.Count(q.Waiting), screen.Count(q.Running), screen.Count(q.Stalled), screen.Count(q.Scheduled), screen.Count(q.Depends), screen.Count(q.Throttled), remark},
			style: style, marked: q.Name == m.chosen[pageQueues],
		})
	}
	return rows
}

// deserted reports whether no supervisor listens to a queue in which jobs wait, as far as they were asked lately.
func (m *model) deserted(q *ops.Queue) bool {
	return m.world.rollErr == nil && m.now().Sub(m.world.rollAt) <= rollLasts && m.world.roll.Deserted(q.Name, q.Waiting, q.Running)
}

var groupColumns = []column{{name: "GROUP"}, {name: "FAILED", right: true, most: 11}}

func (m *model) groupRows() (rows []row) {
	for _, g := range m.groups() {
		count := "damaged"
		if g.count >= 0 {
			count = screen.Count(g.count)
		}
		rows = append(rows, row{cells: []string{g.name, count}, marked: g.name == m.chosen[pageFailures]})
	}
	return rows
}

var jobColumns = []column{{name: "JID", most: 34}, {name: "KLASS", most: 20, rank: 2}, {name: "QUEUE", most: 20, rank: 1}, {name: "AGO", right: true, most: 8}, {name: "MESSAGE"}}

func (m *model) jobRows() (rows []row) {
	if m.world.jobsOf != m.chosen[pageFailures] {
		return nil
	}
	now := float64(m.now().UnixMilli()) / 1e3
	for _, j := range m.world.jobs {
		f := j.Failed()
		rows = append(rows, row{cells: []string{j.JID, j.Klass, j.Queue, screen.Ago(f.When, now), f.Message}, marked: m.below && j.JID == m.second[1]})
	}
	return rows
}

var hostColumns = []column{{name: "HOST"}, {name: "SUPERVISOR", rank: 4}, {name: "PID", right: true, most: 8, rank: 2}, {name: "VERSION", most: 14, rank: 3}, {name: "UP", right: true, most: 8},
	{name: "STATE", most: 24}, {name: "BUSY", right: true, most: 11}, {name: "REDIS", most: 16, rank: 1}, {name: "PAGE", rank: 5}}

func (m *model) hostRows() (rows []row) {
	for _, a := range m.hosts() {
		state, style := hostState(&a)
		redis := "ok"
		if what, _ := a.Status.RedisTrouble(); what != "" {
			redis, style = what, red
		}
		rows = append(rows, row{
			cells: []string{a.Host, a.Status.Name, fmt.Sprint(a.Status.PID), a.Version, screen.Seconds(a.Status.Up), state,
				fmt.Sprintf("%s/%s", screen.Count(a.Sums.Busy), screen.Count(a.Room())), redis, a.URL},
			style: style, marked: hostName(a) == m.chosen[pageHosts],
		})
	}
	return rows
}

func hostState(a *rollcall.Answer) (string, lipgloss.Style) {
	switch s := &a.Status; {
	case s.Draining:
		return "draining", yellow
	case s.Quiet:
		return "quiet", yellow
	case s.Abstains != "":
		return "▲ takes no jobs", red
	case !s.Ready:
		return "▲ not ready", red
	case a.Sums.Breakers > 0:
		return "▲ breaker", red
	case a.Sums.Rolling > 0:
		return "rolling", yellow
	}
	return "ready", plain
}

// age is how old what is shown is, where that is worth a word.
func age(at, now time.Time) string {
	if at.IsZero() || now.Sub(at) < 5*time.Second {
		return ""
	}
	return "as of " + at.Format("15:04:05")
}
