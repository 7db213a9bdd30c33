package cli

import (
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/plan"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func rulesCommand() *cli.Command {
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "tell what would change, and change nothing"}
	return group("rules", "limits, windows and order of queues, which all who work them obey",
		verb{name: "show", usage: "show the rules that count, and whose they are", words: "[RULE…]", most: -1, flags: []cli.Flag{jsonFlag()}, do: rulesShow},
		verb{name: "diff", usage: "compare the configuration with Redis: what a reload would change, and what it would not; exits 1 if anything", flags: []cli.Flag{jsonFlag()}, do: rulesDiff},
		verb{name: "apply", usage: "make the rules of the configuration count, whatever the files of others say", flags: []cli.Flag{dry, forceFlag(), jsonFlag()}, do: rulesApply},
		verb{name: "rm", usage: "take rules away, all without a name; a supervisor that has them in its file puts them back when it starts or reloads", words: "[RULE…]", most: -1,
			flags: []cli.Flag{dry, forceFlag(), jsonFlag()}, do: rulesRemove},
		verb{name: "explain", usage: "tell what a job would need to run, and how much of that there is", flags: append([]cli.Flag{
			&cli.StringFlag{Name: "queue", Usage: "the `QUEUE` it is in"},
			&cli.StringFlag{Name: "klass", Aliases: []string{"k"}, Value: "job", Usage: "what `KIND` of work it is"},
			&cli.StringFlag{Name: "data", Value: "{}", Usage: "its data, as `JSON`"},
			&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "`TAG` of it; may be given again"},
			&cli.StringSliceFlag{Name: "throttle", Usage: "a `THROTTLE` that it names itself; may be given again"},
			jsonFlag(),
		}, wantsFlags()...), do: rulesExplain},
	)
}

func windowCommand() *cli.Command {
	return group("window", "when jobs may start, by the clock on the wall",
		verb{name: "ls", usage: "list the windows of the rules, and when each opens or shuts", flags: []cli.Flag{jsonFlag()}, do: func(c *cli.Context, q *queue.Client) error {
			all, err := ops.Windows(c.Context, q)
			if err != nil {
				return err
			}
			return answer(c, all, func(w io.Writer) { show.Windows(w, all) })
		}},
		verb{name: "next", usage: "tell when a window is open next: one of the rules, or \"Mon-Fri 22:00-06:00\"", words: "WINDOW|SPAN…", least: 1, most: -1,
			flags: []cli.Flag{&cli.StringFlag{Name: "zone", Usage: "of spans: a time `ZONE` such as Europe/Berlin (default: UTC)"}, jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				next, err := ops.WindowOf(c.Context, q, c.Args().Slice(), c.String("zone"))
				if err != nil {
					return err
				}
				return answer(c, next, func(w io.Writer) { show.Window(w, next) })
			}, alone: windowOfSpans},
	)
}

func klassCommand() *cli.Command {
	return group("klass", "what rules say of classes of jobs",
		verb{name: "ls", usage: "list the classes of which rules say something; of those that stand for a class, the first counts", flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				cfg, err := reload(c, config.Options{NoPools: true})
				if err != nil {
					return err
				}
				all, err := ops.KlassRules(c.Context, q, cfg.Klass)
				if err != nil {
					return err
				}
				return answer(c, all, func(w io.Writer) { show.Klasses(w, all) })
			}},
		verb{name: "show", usage: "tell what counts for jobs of a class, by the rules in Redis and, for those who work them, by the configuration", words: "KLASS", least: 1, most: 1, flags: []cli.Flag{jsonFlag()},
			do: func(c *cli.Context, q *queue.Client) error {
				cfg, err := reload(c, config.Options{NoPools: true})
				if err != nil {
					return err
				}
				rule, err := ops.KlassRuleOf(c.Context, q, cfg.Klass, c.Args().First())
				if err != nil {
					return err
				}
				return answer(c, rule, func(w io.Writer) { show.Klass(w, rule, c.Args().First()) })
			}},
	)
}

func rulesShow(c *cli.Context, q *queue.Client) error {
	all, err := ops.ShowRules(c.Context, q, c.Args().Slice())
	if err != nil {
		return err
	}
	return answer(c, all, func(w io.Writer) { show.Rules(w, all, q.Now()) })
}

// fileWithRules is the configuration whose rules are meant.
func fileWithRules(c *cli.Context) (config.Config, error) {
	cfg, err := load(c, config.Options{NoPools: true})
	if err == nil && cfg.Path == "" {
		err = misused("there is no configuration file with rules; name it: -c FILE")
	}
	return cfg, err
}

func rulesDiff(c *cli.Context, q *queue.Client) error {
	cfg, err := fileWithRules(c)
	if err != nil {
		return err
	}
	diff, err := ops.DiffRules(c.Context, q, cfg.RulesFile())
	if err != nil {
		return err
	}
	orders, err := ops.ApplyOrders(c.Context, q, plan.Orders(cfg), true, nil)
	if err != nil {
		return err
	}
	diff.Changes = append(diff.Changes, orders...)
	err = answer(c, diff, func(w io.Writer) {
		show.RuleChanges(w, diff.Changes, diff.Conflicts)
		if diff.Refused != "" {
			screen.PrintLine(w, diff.Refused)
		}
	})
	if err == nil && !diff.Same() {
		return silent{exitFailed}
	}
	return err
}

func rulesApply(c *cli.Context, q *queue.Client) error {
	changes, err := installRules(c, q, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return changedRules(c, changes)
}

// installRules makes the rules of the configuration count and returns what has changed; with dry, what would.
func installRules(c *cli.Context, q *queue.Client, dry bool) ([]rules.Change, error) {
	cfg, err := fileWithRules(c)
	if err != nil {
		return nil, err
	}
	changes, err := ops.ApplyRules(c.Context, q, cfg.RulesFile(), dry, sure(c), func(long time.Duration) {
		screen.Printf(c.App.ErrWriter, "These are the first rules here: all who work this Redis are told, and obey them in %v.\n", long)
	})
	if err != nil {
		return nil, err
	}
	orders, err := ops.ApplyOrders(c.Context, q, plan.Orders(cfg), dry, sure(c))
	return append(changes, orders...), err
}

func rulesRemove(c *cli.Context, q *queue.Client) error {
	changes, err := ops.RemoveRules(c.Context, q, c.Args().Slice(), c.Bool("dry-run"), sure(c))
	if err != nil {
		return err
	}
	return changedRules(c, changes)
}

func changedRules(c *cli.Context, changes []rules.Change) error {
	return answer(c, ops.ChangedRules{Changes: changes, DryRun: c.Bool("dry-run")}, func(w io.Writer) {
		if c.Bool("dry-run") {
			screen.PrintLine(w, "Nothing was done. This is what would be:")
		}
		show.RuleChanges(w, changes, nil)
	})
}

// windowOfSpans tells of spans that are written down, for which no rule needs to be read: of several words, or of one word that is a span.
func windowOfSpans(c *cli.Context) (done bool, err error) {
	spans, zone := c.Args().Slice(), c.String("zone")
	next, err := ops.NextOfSpans(spans, zone, time.Now())
	if err != nil && len(spans) == 1 && !queue.IsSpan(spans[0]) {
		return false, nil // the name of one, perhaps
	}
	if err != nil {
		return false, err
	}
	return true, answer(c, next, func(w io.Writer) { show.Window(w, next) })
}

func rulesExplain(c *cli.Context, q *queue.Client) error {
	if c.String("queue") == "" {
		return misused("say in which queue: --queue QUEUE")
	}
	job := rules.Job{Queue: c.String("queue"), Klass: c.String("klass"), Data: []byte(c.String("data")), Tags: c.StringSlice("tag"), Throttles: c.StringSlice("throttle")}
	wants, err := wantsOf(c)
	if err != nil {
		return err
	}
	needs, err := ops.ExplainRules(c.Context, q, job, wants)
	if err != nil {
		return err
	}
	if cfg, err := load(c, config.Options{}); err == nil && cfg.Path != "" { // else nothing is known of a file
		names, err := ops.Uninstalled(c.Context, q, cfg.RulesFile(), plan.Orders(cfg), []rules.Job{job})
		if err == nil && len(names) > 0 {
			screen.Printf(c.App.ErrWriter, "Redis does not have these rules of %s: %s.\nA supervisor that starts with the file installs them, or oarlock rules apply.\n",
				cfg.Path, strings.Join(names, ", "))
		}
	}
	return answer(c, needs, func(w io.Writer) { show.Needs(w, needs) })
}
