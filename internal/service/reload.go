package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/plan"
	"oarlock/internal/systemd"
	"oarlock/supervisor"
)

// Reloaded is what a reload did, in the words of the keys of the file.
type Reloaded struct {
	By      string              `json:"by"`             // what asked for it: HUP, the command, a change of the file
	Ago     float64             `json:"ago,omitempty"`  // seconds since it was made, of one that the next found done
	Keys    []string            `json:"keys,omitempty"` // outside of the pools, that are in force now
	Pools   map[string][]string `json:"pools,omitempty"`
	Changes supervisor.Changes  `json:"changes"`
	GivenUp []string            `json:"given_up,omitempty"` // pools of which a generation was given up, where nothing has changed
	Restart []string            `json:"restart,omitempty"`  // keys that are otherwise than when the supervisor was started
	Refused string              `json:"refused,omitempty"`  // why nothing was changed
	Code    int                 `json:"code"`               // with which the command exits
}

// recently is how long ago a reload may have been for the next to tell of it.
const recently = time.Minute

// reloadChanged reloads a configuration of which the file watch says that it is another one,
// unless a reload was quicker.
func (s *Service) reloadChanged(sum config.Sum) {
	s.reloads.Lock()
	known := s.tried == sum
	s.reloads.Unlock()
	if !known {
		s.Reload("a change of the file")
	}
}

// Reload reads the configuration again and, if it is good, lets the supervisor change
// to it. A bad one changes nothing; its problems are logged and returned. by says who or what asks for it.
func (s *Service) Reload(by string) Reloaded {
	s.reloads.Lock()
	defer s.reloads.Unlock()
	if s.ready.Load() {
		systemd.Reloading()
		defer systemd.Ready()
	}
	before := s.config()
	cfg, told, err := s.read(before)
	s.tried = cfg.Sum
	var done supervisor.Changes
	if err == nil {
		s.carries(told.Pools)
		s.rules.Expect(cfg.RulesFile()) // before any pool takes from queues that are new to it
		if done, err = s.sup.Reload(told); err != nil {
			s.rules.Set(before.RulesFile())
		} else {
			limitGarbage(told.Pools)
		}
	}
	if err != nil {
		s.log.Error("the configuration was not reloaded; the old one stays", "err", err)
		s.hub.Note(supervisor.Event{Kind: supervisor.Reloaded, Reason: "refused", Message: err.Error()})
		return Reloaded{By: by, Refused: err.Error(), Code: cmp.Or(config.ExitCode(err), 1)}
	}
	if !slices.Equal(cfg.Doubts, before.Doubts) {
		s.warnOfDoubts(cfg)
	}
	s.crons.Set(plan.Crons(cfg))
	s.rules.Set(cfg.RulesFile())
	s.deciders.Set(plan.Deciders(cfg))
	secrets := s.secrets.Load()
	if err := s.learnSecrets(cfg.Park); err != nil {
		s.log.Error("the secrets of callback addresses were not read again; the old ones stay", "err", err)
	}
	r := Reloaded{By: by, Changes: done}
	if !s.secrets.Load().Same(*secrets) {
		r.Keys = []string{"park.secret_file"} // what is in it, if nothing else
	}
	s.logs.SetLevel(cfg.Log.Level)
	s.attempts.tell(cfg.Log.Attempts)
	s.redactor.Store(LogRedactor(cfg.Log))
	s.mu.Lock()
	s.cfg = cfg
	s.mu.Unlock()
	select {
	case s.hooked <- struct{}{}:
	default: // it will see this one
	}
	select {
	case s.reordered <- struct{}{}:
	default: // likewise
	}
	return s.reloaded(r, cfg, before)
}

// reloaded completes the report of a reload that was done, logs it, and returns it, or, if it
// changed nothing, that of the one which had done so already.
func (s *Service) reloaded(r Reloaded, cfg, before config.Config) Reloaded {
	r.Pools = map[string][]string{}
	for name, pool := range cfg.Pools {
		if old, was := before.Pools[name]; was {
			if keys := pool.Changed(old); len(keys) > 0 {
				r.Pools[name] = keys
			}
		}
	}
	for _, key := range cfg.Changed(before) {
		if !needsRestart(key) && !slices.Contains(r.Keys, key) {
			r.Keys = append(r.Keys, key)
		}
	}
	r.setRestart(cfg.Changed(s.first))
	if did := r.Did(); len(did) > 0 || len(cfg.Changed(before)) > 0 {
		s.log.Info("reloaded", "pools", len(cfg.Pools), "by", r.By, "did", strings.Join(did, "; "))
		s.latest, s.latestAt = &r, time.Now()
	} else {
		r.GivenUp = givenUp(s.sup.Snapshot())
		if len(r.GivenUp) > 0 {
			s.log.Warn("nothing to reload: the configuration has not changed since a generation was given up; recycle tries again", "by", r.By, "pools", r.GivenUp)
		} else {
			s.log.Info("nothing to reload: the configuration is in force", "by", r.By)
		}
		if ago := time.Since(s.latestAt); s.latest != nil && ago < recently {
			given, restart, code := r.GivenUp, r.Restart, r.Code
			r = *s.latest
			r.Ago, r.GivenUp, r.Restart, r.Code = ago.Seconds(), given, restart, code
		}
	}
	for _, key := range r.Restart {
		s.log.Warn("a change needs a restart", "key", key)
	}
	return r
}

// givenUp names the pools whose children are not of the generation that came last.
func givenUp(shot supervisor.Snapshot) (pools []string) {
	for _, p := range shot.Pools {
		if p.GivenUp != nil {
			pools = append(pools, p.Name)
		}
	}
	return pools
}

// setRestart notes which of the keys that are otherwise than at the start need another one.
func (r *Reloaded) setRestart(keys []string) {
	for _, key := range keys {
		if needsRestart(key) {
			r.Restart, r.Code = append(r.Restart, key), 1
		}
	}
}

// needsRestart reports whether the supervisor that runs cannot take on a change of a key.
func needsRestart(key string) bool {
	switch key {
	case "supervisor.state_dir", "supervisor.name", "supervisor.fleet", "supervisor.poll_interval", "log.format":
		return true
	}
	table, _, _ := strings.Cut(key, ".")
	return table == "redis" || table == "web" || table == "metrics"
}

// Did says what a reload did, one thing each.
func (r *Reloaded) Did() []string {
	var all []string
	replaced := map[string]string{}
	for _, p := range r.Changes.Leaving {
		if p.Replaced {
			replaced[p.Pool] = runsOn(p.Jobs)
			continue
		}
		all = append(all, fmt.Sprintf("%s leaves, %s", p.Pool, runsOn(p.Jobs)))
	}
	for _, name := range r.Changes.Added {
		all = append(all, name+" is new")
	}
	names := map[string]bool{}
	for _, list := range [][]string{slices.Collect(maps.Keys(r.Pools)), slices.Collect(maps.Keys(replaced)), r.Changes.Changed} {
		for _, name := range list {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text := name + " changed"
		if keys := r.Pools[name]; len(keys) > 0 {
			text = fmt.Sprintf("%s has another %s", name, strings.Join(keys, ", "))
		}
		if jobs, is := replaced[name]; is {
			text += ": its children leave, " + jobs
		} else if slices.Contains(r.Changes.Rolling, name) {
			text += ": its children are replaced"
		}
		all = append(all, text)
	}
	for _, key := range r.Keys {
		all = append(all, key+" changed")
	}
	return all
}

// runsOn says how many jobs a pool that leaves has.
func runsOn(jobs int) string {
	switch jobs {
	case -1:
		return "its jobs run on"
	case 0:
		return "no job runs"
	case 1:
		return "1 job runs on"
	}
	return fmt.Sprintf("%d jobs run on", jobs)
}
