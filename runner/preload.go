package runner

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"oarlock/protocol"
	"oarlock/runner/internal/preload"
	"oarlock/runner/internal/tree"
)

// fork makes the process of c, of mode Preload, by the program of origin, which is the spec that c was
// started for.
func (h *Host) fork(ctx context.Context, origin *Spec, c *Child, files channels) (p tree.Process, err error) {
	r := preload.Request{Slot: c.slot, Files: [...]*os.File{files.in, files.out, files.err, files.status}}
	if r.Vars, err = c.slotVars(); err == nil {
		p, err = h.preloads.Fork(ctx, origin, func() (*preload.Order, error) { return h.preloadOrder(c.spec) }, r)
	}
	if err != nil {
		return nil, fmt.Errorf("preload %s: %w", strings.Join(c.spec.Command, " "), err)
	}
	return p, nil
}

// slotVars are the variables that name the slot, which the program of a fork could not have.
func (c *Child) slotVars() (map[string]string, error) {
	vars := map[string]string{}
	for name, text := range c.spec.Vars {
		if !ofSlot(text) {
			continue
		}
		value, err := c.fill(&words{}, name, text)
		if err != nil {
			return nil, err
		}
		vars[name] = value
	}
	return vars, nil
}

// preloadOrder says how the program of spec is started.
func (h *Host) preloadOrder(spec *Spec) (_ *preload.Order, err error) {
	box, each := spec.Sandbox, Sandbox{}
	// What is counted or bounded per process is for each fork.
	each.Limits.CPU, each.Limits.Memory = box.Limits.CPU, box.Limits.Memory
	box.Limits.CPU, box.Limits.Memory = nil, nil
	o := &preload.Order{Pool: spec.Pool, Dir: spec.Dir, StartTimeout: spec.StartTimeout, Wrote: h.logPreloaded(spec)}
	if o.Strength, err = h.starter.Resolve(spec.Kill); err != nil {
		return nil, err
	}
	if o.Each, err = settingsOf("", &each); err != nil {
		return nil, err
	}
	dir, err := h.privateDir(spec)
	if err != nil {
		return nil, err
	}
	o.Over = func() {
		if dir != "" {
			h.dirs.Remove(dir)
		}
	}
	if o.Dir == privateWorkDir {
		o.Dir = dir
	}
	program := &Child{spec: spec, slot: noSlot, dir: dir}
	filled, err := program.words()
	if err == nil {
		o.Settings, err = settingsOf(o.Dir, &box)
	}
	if err != nil {
		o.Over()
		return nil, err
	}
	o.Argv = slices.Concat(spec.Command, filled.args)
	// That of any child of the pool, without what a fork has of its own.
	o.Env = slices.DeleteFunc(program.environment(filled.vars), func(entry string) bool {
		return strings.HasPrefix(entry, "OARLOCK_SLOT=") || strings.HasPrefix(entry, "OARLOCK_STATUS_FD=")
	})
	return o, nil
}

// logPreloaded logs what a preloaded program prints, as far as its pool keeps lines.
func (h *Host) logPreloaded(spec *Spec) func(line []byte) {
	keep := rate{perSecond: spec.LogRate}
	return func(line []byte) {
		if line != nil && !keep.pass(time.Now()) {
			return
		}
		if n := keep.takeDropped(); n > 0 {
			h.log.Warn(TooManyLines(n), "pool", spec.Pool, "of", "the preloaded program")
		}
		if line != nil {
			h.log.Info("preloaded program wrote", "pool", spec.Pool, "line", string(protocol.Visible(nil, line)))
		}
	}
}
