package service

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/doctor"
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
	for _, warning := range slices.Concat(cfg.BadScripts(), cfg.ReadableSecrets(), plan.Warnings(cfg), noLongerAnswer(cfg.Web)) {
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
func (s *Service) warnOfRedis(ctx context.Context, client *queue.Client) {
	facts, err := admin.Facts(ctx, client, "persistence")
	if err != nil {
		s.log.Debug("the server does not tell its settings", "err", err)
		return
	}
	if facts["aof_enabled"] == "0" {
		s.log.Warn("Redis keeps no log of its writes: jobs of the last moments are lost if it is killed", "advice", "set appendonly yes in redis.conf")
	}
	s.warnOfMemory(ctx)
}

// risksEvery is how often a supervisor checks Redis's settings for risks to jobs.
const risksEvery = 5 * time.Minute

// warnOfMemory logs each way once in which the memory of Redis endangers jobs, until it does not any more.
func (s *Service) warnOfMemory(ctx context.Context) {
	s.memory.refresh(ctx)
	for _, text := range s.memory.unlogged() {
		s.log.Warn(text)
	}
}

// redisMemory is what the memory of Redis means for jobs, as of the last minute in which somebody asked for the status.
type redisMemory struct {
	ask func(context.Context) (map[string]string, error) // section memory of INFO

	mu     sync.Mutex      // for memory only
	at     time.Time       // of the last answer, or question
	risks  []string        // sentences
	logged map[string]bool // which of them the log has
}

// memoryLasts is how long an answer of Redis is good enough, and memoryWait how long one may take.
const (
	memoryLasts = time.Minute
	memoryWait  = 5 * time.Second
)

// refresh asks Redis. What is not told is as it was.
func (m *redisMemory) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	m.mu.Lock()
	m.at = time.Now()
	m.mu.Unlock()
	facts, err := m.ask(ctx)
	if err != nil {
		return
	}
	var risks []string
	for _, f := range doctor.Memory(facts) {
		if f.Level == doctor.Warning || f.Level == doctor.Bad {
			risks = append(risks, f.Text+" "+f.Advice)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.risks = risks
}

// unlogged are the risks that it did not tell the time before; the numbers in them do not count.
func (m *redisMemory) unlogged() (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.logged
	m.logged = map[string]bool{}
	for _, text := range m.risks {
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '.' {
				return -1
			}
			return r
		}, text)
		if m.logged[kind] = true; !before[kind] {
			texts = append(texts, text)
		}
	}
	return texts
}

// told are sentences on what endangers jobs, without waiting: what is older than a minute is asked for, for who comes next.
func (m *redisMemory) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) > memoryLasts {
		m.at = time.Now()
		go m.refresh(context.Background()) // ends with its answer, or when the client is closed
	}
	return m.risks
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
