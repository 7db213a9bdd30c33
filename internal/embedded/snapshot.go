package embedded

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// dump is one script, so that a snapshot shows one moment.
const dump = `
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key)['ok']
  local values
  if kind == 'string' then values = {redis.call('GET', key)}
  elseif kind == 'hash' then values = redis.call('HGETALL', key)
  elseif kind == 'list' then values = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then values = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then values = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  all[#all + 1] = {key, kind, redis.call('PTTL', key), values}
end
return all`

// entry is one key in a snapshot.
type entry struct {
	Key, Kind string
	TTL       int64 // milliseconds; negative for none
	Values    []string
}

// Save writes all keys of database 0 to the file path, replacing it whole.
func (s *Server) Save(path string) error {
	entries, err := s.entries()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // nothing is left there after the rename
	err = gob.NewEncoder(file).Encode(entries)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

// saveEvery is how often Keep writes its snapshot.
const saveEvery = 5 * time.Second

// Keep saves the server to the file at path every now and then, and when ctx ends. It returns with that
// last save, or with the first that failed.
func (s *Server) Keep(ctx context.Context, path string) error {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.Save(path)
		case <-ticker.C:
			if err := s.Save(path); err != nil {
				return err
			}
		}
	}
}

// Load reads what Save wrote. A file that does not exist is an empty snapshot.
func (s *Server) Load(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	var entries []entry
	if err := gob.NewDecoder(bufio.NewReader(file)).Decode(&entries); err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	for _, e := range entries {
		if err := s.restore(e); err != nil {
			return fmt.Errorf("snapshot %s: key %s: %w", path, e.Key, err)
		}
	}
	return nil
}

func (s *Server) entries() ([]entry, error) {
	reply, err := server.ParseReply(bufio.NewReader(strings.NewReader(s.dispatch("EVAL", dump, "0"))))
	if err != nil {
		return nil, err
	}
	all, _ := reply.([]any)
	entries := make([]entry, 0, len(all))
	for _, item := range all {
		fields := item.([]any) // the shape is the script's above
		e := entry{Key: fields[0].(string), Kind: fields[1].(string), TTL: int64(fields[2].(int))}
		for _, value := range fields[3].([]any) {
			e.Values = append(e.Values, value.(string))
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (s *Server) restore(e entry) error {
	commands := map[string]string{"string": "SET", "hash": "HSET", "list": "RPUSH", "set": "SADD", "zset": "ZADD"}
	values := e.Values
	if e.Kind == "zset" { // a reply says member, score; the command wants score, member
		values = make([]string, len(e.Values))
		for i := 0; i+1 < len(values); i += 2 {
			values[i], values[i+1] = e.Values[i+1], e.Values[i]
		}
	}
	args := append([]string{commands[e.Kind], e.Key}, values...)
	if reply := s.dispatch(args...); strings.HasPrefix(reply, "-") {
		return errors.New(strings.TrimSpace(reply[1:]))
	}
	if e.TTL > 0 {
		s.dispatch("PEXPIRE", e.Key, strconv.FormatInt(e.TTL, 10))
	}
	return nil
}
