package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Warnings tells what is no mistake and may become one, a sentence each: of the scripts that are not there or cannot be read, which may be
// put there later, and of arguments that a job could make options of the program.
func (c Config) Warnings() []string {
	warnings := append(c.BadScripts(), c.ReadableSecrets()...)
	if risk := c.Web.Risk(); risk != "" {
		warnings = append(warnings, risk)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if text := c.Pools[name].Optional(); text != "" {
			warnings = append(warnings, fmt.Sprintf("pool %s: the program may take %s of args for an option where the job's value begins with -; put \"--\" before it if the program knows that, or write ./%s for a path.", name, text, text))
		}
	}
	return append(append(warnings, c.UnusedThrottles()...), c.unfair()...)
}

// unfair tells of throttles with values that take no turns, for those of another do.
func (c Config) unfair() (warnings []string) {
	set := c.RuleSet()
	for _, name := range slices.Sorted(maps.Keys(set.Queues)) {
		by, others := set.FairBy(name)
		if len(others) > 0 {
			warnings = append(warnings, fmt.Sprintf("queues.%s: values of %s take turns; those of throttles.%s do not while places are free.", name, by, strings.Join(others, ", throttles.")))
		}
	}
	return warnings
}

// BadScripts tells of the scripts that commands name and that are not there, or not as they would have to be, one sentence
// for each pool.
func (c Config) BadScripts() []string {
	warnings := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if trouble := c.Pools[name].ScriptTrouble(); trouble != "" {
			warnings = append(warnings, "pool "+name+": "+trouble+".")
		}
	}
	return warnings
}

// NeedPools refuses a configuration with which there is nothing to supervise, as Problems.
func (c Config) NeedPools() error {
	if len(c.Pools) > 0 {
		return nil
	}
	if c.Path == "" {
		return Problems{{Why: strings.Join(append([]string{"there is no configuration file, so there are no pools; `oarlock init` writes one"}, c.Doubts...), "; ")}}
	}
	return Problems{{File: c.Path, Key: "pools", Why: "there is no pool; add a table [pools.NAME] with queues and command"}}
}

// PoolNames says how many pools there are and how they are called: "2 pools, a, b".
func (c Config) PoolNames() string {
	names := slices.Sorted(maps.Keys(c.Pools))
	if len(names) == 0 {
		return "no pool"
	}
	if len(names) == 1 {
		return "1 pool, " + names[0]
	}
	return fmt.Sprintf("%d pools, %s", len(names), strings.Join(names, ", "))
}
