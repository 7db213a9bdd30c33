package doctor

import (
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// run calls a script with args and then jids. It is loaded where the server does not know it:
// the text itself, as in EVAL, our user may not send.
func (k *keys) run(script *redis.Script, args []any, jids []string) ([]string, error) {
	args = slices.Clone(args)
	for _, jid := range jids {
		args = append(args, jid)
	}
	call := func() ([]string, error) {
		return script.EvalSha(k.ctx, k.node, []string{k.ns}, args...).StringSlice()
	}
	answers, err := call()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := script.Load(k.ctx, k.node).Err(); err != nil {
			return nil, err
		}
		answers, err = call()
	}
	return answers, err
}

// members calls use with the members of a sorted set, some at a time.
func (k *keys) members(key string, use func([]string) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := k.node.ZScan(k.ctx, key, cursor, "", batch).Result()
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
func (k *keys) each(pattern, kind string, use func([]string) error) error {
	prefix := k.ns + strings.TrimSuffix(pattern, "*")
	for cursor := uint64(0); ; {
		names, next, err := k.node.ScanType(k.ctx, cursor, escapeGlob(prefix)+"*", batch, kind).Result()
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

// escapeGlob makes text stand for itself in a pattern of Redis.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
