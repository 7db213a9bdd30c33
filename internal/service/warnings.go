package service

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"

	"oarlock/internal/config"
	"oarlock/internal/plan"
	"oarlock/queue"
	"oarlock/queue/admin"
)

// warn logs what is to be doubted in cfg, when it is taken on for the first time.
func (s *Service) warn(cfg config.Config) {
	warnOfRoot(s.log, cfg)
	for _, text := range plan.CapacityOf(s.host).WatchedMemory(cfg) {
		s.log.Warn(text)
	}
	warnOfExposure(s.log, cfg)
	for _, warning := range slices.Concat(cfg.MissingScripts(), plan.Warnings(cfg)) {
		s.log.Warn(warning)
	}
	s.warnOfDoubts(cfg)
}

// warnOfDoubts logs which files of cfg others may have written.
func (s *Service) warnOfDoubts(cfg config.Config) {
	for _, doubt := range cfg.Doubts {
		s.log.Warn("the configuration is in doubt", "why", doubt)
	}
}

// warnOfRedis logs settings of the server with which jobs can get lost. A server that
// does not tell them is believed.
func warnOfRedis(ctx context.Context, log *slog.Logger, client *queue.Client) {
	facts := map[string]string{}
	for _, section := range []string{"persistence", "memory"} {
		some, err := admin.Facts(ctx, client, section)
		if err != nil {
			log.Debug("the server does not tell its settings", "section", section, "err", err)
			return
		}
		maps.Copy(facts, some)
	}
	if facts["aof_enabled"] == "0" {
		log.Warn("Redis keeps no log of its writes: jobs of the last moments are lost if it is killed", "advice", "set appendonly yes in redis.conf")
	}
	if policy := facts["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		log.Warn("Redis may throw keys away when it is out of memory, and with them jobs", "now", policy, "advice", "set maxmemory-policy noeviction in redis.conf")
	}
}

// warnOfExposure logs that a configuration can be changed by those who must not. It is
// taken as it is at start, but it will not be reloaded.
func warnOfExposure(log *slog.Logger, cfg config.Config) {
	if cfg.Trusted {
		return
	}
	if err := config.Exposed(cfg.Files, cfg.Pools, nil); err != nil {
		log.Warn("the configuration can be changed by those who must not: it will not be reloaded", "err", err)
	}
}

// warnOfRoot logs which pools run their children as root for want of another user.
func warnOfRoot(log *slog.Logger, cfg config.Config) {
	if os.Geteuid() != 0 {
		return
	}
	var pools []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		if cfg.Pools[name].Sandbox.User == "" {
			pools = append(pools, name)
		}
	}
	if len(pools) > 0 {
		log.Warn("children run as root", "pools", pools, "advice", "name a user in the pools' sandbox tables")
	}
}
