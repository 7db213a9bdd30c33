package web

import (
	"cmp"
	"net/http"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// ruleRoutes are what is asked of rules, windows and classes of jobs, and done to them.
func (a *App) ruleRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/rules", Right: Read, Do: a.apiRules},
		{Method: "GET", Path: "/rules/diff", Right: Read, Do: a.apiRulesDiff},
		{Method: "GET", Path: "/rules/explain", Right: Read, Do: a.apiExplainRules},
		{Method: "POST", Path: "/rules/apply", Right: Write, Does: "apply rules", Do: a.apiApplyRules},
		{Method: "POST", Path: "/rules/remove", Right: Write, Does: "remove rules", Do: a.apiRemoveRules},
		{Method: "GET", Path: "/windows", Right: Read, Do: a.apiWindows},
		{Method: "GET", Path: "/windows/next", Right: Read, Do: a.apiNextWindow},
		{Method: "GET", Path: "/klasses", Right: Read, Do: a.apiKlasses},
		{Method: "GET", Path: "/klasses/{klass}", Right: Read, Do: a.apiKlass},
	}
}

func (a *App) apiRules(c *Call) error {
	all, err := ops.ShowRules(c.R.Context(), a.o.Redis, c.several("name"))
	if err != nil {
		return noneCalled("no_such_rule", err)
	}
	return c.JSON(http.StatusOK, all)
}

// rulesFile is what the configuration of the supervisor of this process says.
func (a *App) rulesFile() (rules.File, error) {
	if a.o.Rules == nil {
		return rules.File{}, problem(http.StatusNotFound, "no_supervisor", "no supervisor runs in the process that answers, so it has no file with rules; `oarlock rules` reads yours")
	}
	return a.o.Rules(), nil
}

func (a *App) apiRulesDiff(c *Call) error {
	file, err := a.rulesFile()
	if err != nil {
		return err
	}
	diff, err := ops.DiffRules(c.R.Context(), a.o.Redis, file)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, diff)
}

func (a *App) apiApplyRules(c *Call) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	file, err := a.rulesFile()
	if err != nil {
		return err
	}
	c.Did(file.Owner, 0)
	changes, err := ops.ApplyRules(c.R.Context(), a.o.Redis, file, dry, c.sure(), nil)
	if err != nil {
		return err
	}
	c.Did(file.Owner, len(changes))
	return c.JSON(http.StatusOK, ops.ChangedRules{Changes: changes, DryRun: dry})
}

func (a *App) apiRemoveRules(c *Call) error {
	var in struct {
		Names  []string `json:"names"` // none is all
		DryRun bool     `json:"dry_run"`
	}
	if err := c.body(&in); err != nil {
		return err
	}
	c.Did(screen.Shorten(strings.Join(in.Names, " "), 200), 0)
	changes, err := ops.RemoveRules(c.R.Context(), a.o.Redis, in.Names, in.DryRun, c.sure())
	if err != nil {
		return noneCalled("no_such_rule", err)
	}
	c.Did(screen.Shorten(strings.Join(in.Names, " "), 200), len(changes))
	return c.JSON(http.StatusOK, ops.ChangedRules{Changes: changes, DryRun: in.DryRun})
}

func (a *App) apiExplainRules(c *Call) error {
	if c.query("queue") == "" {
		return badField("queue", "say in which queue: ?queue=mail")
	}
	job := rules.Job{
		Queue: c.query("queue"), Klass: cmp.Or(c.query("klass"), "job"), Data: []byte(cmp.Or(c.query("data"), "{}")),
		Tags: c.several("tag"), Throttles: c.several("throttle"),
	}
	if err := ops.CheckJSON(job.Data); err != nil {
		return badField("data", "%s is no JSON: %v", shown(c.query("data")), err)
	}
	weight, err := c.number("weight", 0)
	if err != nil {
		return err
	}
	needs, err := ops.ExplainRules(c.R.Context(), a.o.Redis, job,
		queue.Wants{Weight: weight, Bypass: c.flag("bypass"), Windows: c.several("window"), Zone: c.query("zone")})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, needs)
}

func (a *App) apiWindows(c *Call) error {
	all, err := ops.Windows(c.R.Context(), a.o.Redis)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, whole(all))
}

// apiNextWindow tells of a window of the rules, or of spans that need not be in any.
func (a *App) apiNextWindow(c *Call) error {
	spec := c.several("spec")
	if len(spec) == 0 {
		return badField("spec", "name a window of the rules, or a span: ?spec=Mon-Fri+22:00-06:00&zone=Europe/Berlin")
	}
	next, err := ops.WindowOf(c.R.Context(), a.o.Redis, spec, c.query("zone"))
	if err != nil {
		return noneCalled("no_such_window", err)
	}
	return c.JSON(http.StatusOK, next)
}

// klassesOfFile is what the configuration of the supervisor says of classes; nil where there is none.
func (a *App) klassesOfFile() ops.FileKlasses {
	if a.o.Klasses == nil {
		return nil
	}
	return a.o.Klasses()
}

func (a *App) apiKlasses(c *Call) error {
	all, err := ops.KlassRules(c.R.Context(), a.o.Redis, a.klassesOfFile())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, whole(all))
}

// apiKlass tells what counts for jobs of a class.
func (a *App) apiKlass(c *Call) error {
	rule, err := ops.KlassRuleOf(c.R.Context(), a.o.Redis, a.klassesOfFile(), c.Name("klass"))
	if err != nil {
		return noneCalled("no_such_rule", err)
	}
	return c.JSON(http.StatusOK, rule)
}
