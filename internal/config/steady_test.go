package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/must"
)

// A file that is still being written is read until it stands still.
func TestSteadyWaitsForTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		reads := 0
		cfg, err := Steady(func() (Config, error) {
			reads++
			if time.Since(began) < time.Second {
				return Config{Sum: Sum{byte(reads)}}, errors.New("half of a file")
			}
			return Config{Sum: Sum{0xff}, Path: "whole"}, nil
		})
		if err != nil || cfg.Path != "whole" {
			t.Errorf("read %+v, %v", cfg, err)
		}
		began = time.Now()
		if _, err := Steady(func() (Config, error) { reads++; return Config{Sum: Sum{byte(reads)}}, nil }); err == nil {
			t.Error("a file that never stands still was believed")
		}
		if took := time.Since(began); took != mostLooks*stillness {
			t.Errorf("it took %v to give up", took)
		}
	})
}

// What Load read has the sum by which Watch knows it, whether it is good, bad or away.
func TestSumOfWhatWasLoaded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.toml")
	must.Do(t, os.Mkdir(filepath.Join(dir, "conf.d"), 0o755))
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	seen := map[Sum]bool{}
	for _, change := range []func(){
		func() {}, // there is no file
		func() { write("c.toml", "") },
		func() { write("conf.d/a.toml", "[pools.a]\nqueues = [\"a\"]\ncommand = [\"true\"]\n") },
		func() { write("c.toml", "[pools") },
	} {
		change()
		cfg, _ := Load(Options{Path: path})
		if cfg.Sum != sumOf(readAll([]string{path})) || seen[cfg.Sum] {
			t.Errorf("the sum is %x", cfg.Sum)
		}
		seen[cfg.Sum] = true
	}
}

func TestChangedKeys(t *testing.T) {
	before, now := Defaults(), Defaults()
	now.Redis.URL, now.Log.Level, now.Path = "redis://elsewhere", "debug", "other"
	now.Pools = map[string]Pool{"p": DefaultPool()}
	now.Recurring = map[string]Recurring{"changed": {Cron: "@daily"}, "same": {Cron: "@daily"}, "new": {}}
	before.Recurring = map[string]Recurring{"changed": {Cron: "@hourly"}, "same": {Cron: "@daily"}, "gone": {}}
	if got, want := now.Changed(before), []string{"log.level", "recurring.changed", "recurring.gone", "recurring.new", "redis.url"}; !reflect.DeepEqual(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
	old, pool := DefaultPool(), DefaultPool()
	if got := pool.Changed(old); got != nil {
		t.Errorf("two defaults differ in %v", got)
	}
	pool.Command, pool.Retry.Backoff, pool.Sandbox.Limits.NoFile = []string{"x"}, Backoff{Curve: "linear"}, 7
	if got, want := pool.Changed(old), []string{"command", "retry.backoff", "sandbox.limits.nofile"}; !reflect.DeepEqual(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
}
