package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// How the memory of Redis endangers jobs is asked at most once a minute, by nobody who waits, and stays known while Redis does not tell.
func TestTheMemoryOfRedisIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, facts, wrong := 0, map[string]string{"used_memory": "900", "maxmemory": "1000", "maxmemory_policy": "allkeys-lru"}, error(nil)
		m := &redisMemory{ask: func(context.Context) (map[string]string, error) {
			asked++
			time.Sleep(time.Second)
			return facts, wrong
		}}
		told := func() string {
			began := time.Now()
			text := strings.Join(m.told(), "\n")
			if time.Since(began) > 0 {
				t.Error("who asks waits for Redis")
			}
			time.Sleep(2 * time.Second)
			synctest.Wait() // for the answer
			return text
		}
		if first := told(); first != "" || asked != 1 {
			t.Errorf("at first, asked %d times: %q", asked, first)
		}
		for range 10 {
			if text := told(); !strings.Contains(text, "throws jobs away when memory runs out. maxmemory-policy noeviction\n900 B of 1000 B are in use") || asked != 1 {
				t.Fatalf("asked %d times: %q", asked, text)
			}
		}
		wrong = errors.New("away")
		time.Sleep(time.Minute)
		told()
		if text := told(); text == "" || asked != 2 {
			t.Errorf("while Redis does not tell, asked %d times: %q", asked, text)
		}
		facts, wrong = map[string]string{"used_memory": "900", "maxmemory": "0", "maxmemory_policy": "noeviction"}, nil
		time.Sleep(time.Minute)
		told()
		if text := told(); text != "" || asked != 3 {
			t.Errorf("of one that is sound: %q", text)
		}
	})
}
