package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"oarlock/internal/config"
)

// programWatches gives a part for each pool whose command names files: when one of them
// changes, the children of the pool are replaced.
func (s *Service) programWatches(cfg config.Config) []part {
	var parts []part
	for name, pool := range cfg.Pools {
		files := programFiles(pool)
		if len(files) == 0 {
			continue
		}
		parts = append(parts, s.optional("a program is not watched", func(ctx context.Context) error {
			return config.Watch(ctx, files[0], files[1:], func(config.Sum) {
				s.log.Info("a program has changed", "pool", name, "files", files)
				if err := s.sup.Replace(name); err != nil {
					s.log.Warn("its children were not replaced", "pool", name, "err", err)
				}
			})
		}))
	}
	return parts
}

// programFiles are the words of a command that are files where it runs.
func programFiles(pool config.Pool) []string {
	var files []string
	for _, word := range slices.Concat(pool.Command, pool.Args) {
		if !filepath.IsAbs(word) {
			word = filepath.Join(pool.Sandbox.Dir, word)
		}
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, word)
	}
	return files
}
