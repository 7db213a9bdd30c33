package admin

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
	"oarlock/queue/internal/wire"
)

// server is one Redis.
type server interface {
	redis.Cmdable
	Do(ctx context.Context, words ...any) *redis.Cmd
}

// serverOf is the server that holds the keys, of those behind the client.
func serverOf(ctx context.Context, client *queue.Client) (server, error) {
	if cluster, ok := client.Redis().(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, client.Namespace())
	}
	return client.Redis(), nil
}

// scan goes over all keys of a namespace, some at a time.
type scan struct {
	ctx  context.Context
	node server
	ns   string
}

func newScan(ctx context.Context, client *queue.Client) (scan, error) {
	node, err := serverOf(ctx, client)
	return scan{ctx: ctx, node: node, ns: client.Namespace()}, err
}

// loadTries is how often a script is loaded in one call: somebody may flush all scripts just in between, again and again.
const loadTries = 5

// run calls a script with args and then jids. It is loaded where the server does not know it:
// the text itself, as in EVAL, our user may not send.
func (s *scan) run(script *redis.Script, args []any, jids []string) ([]string, error) {
	args = slices.Clone(args)
	for _, jid := range jids {
		args = append(args, jid)
	}
	call := func() ([]string, error) {
		return script.EvalSha(s.ctx, s.node, []string{s.ns}, args...).StringSlice()
	}
	answers, err := call()
	for try := 0; try < loadTries && redis.HasErrorPrefix(err, "NOSCRIPT"); try++ {
		if err := script.Load(s.ctx, s.node).Err(); err != nil {
			return nil, err
		}
		answers, err = call()
	}
	return answers, err
}

// members calls use with the members of a sorted set, some at a time.
func (s *scan) members(key string, use func([]string) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := s.node.ZScan(s.ctx, key, cursor, "", batch).Result()
		if err != nil {
			return readable(err)
		}
		var jids []string
		for pair := range slices.Chunk(pairs, 2) {
			jids = append(jids, pair[0])
		}
		// A small set comes in one piece, whatever was asked for.
		for some := range slices.Chunk(jids, batch) {
			if err := use(some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// each calls use with what follows the pattern's first word in the names of all keys of a
// type, some at a time.
func (s *scan) each(pattern, kind string, use func([]string) error) error {
	prefix := s.ns + strings.TrimSuffix(pattern, "*")
	for cursor := uint64(0); ; {
		names, next, err := s.node.ScanType(s.ctx, cursor, wire.Literal(prefix)+"*", batch, kind).Result()
		if err != nil {
			return err
		}
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, prefix)
		}
		for some := range slices.Chunk(names, batch) {
			if err := use(some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// IsWrongType tells whether a command met a key of another type than it is for.
func IsWrongType(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// readable makes nothing of an error that only says so: Keys tells of the key.
func readable(err error) error {
	if IsWrongType(err) {
		return nil
	}
	return err
}
