package queue_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// BenchmarkCost reports what single commands cost the server, as multiples of u, the
// time Redis spends in EVALSHA of the smallest script that calls a command: through
// their own scripts and through the unified one, and through their own with a million
// jobs waiting, and with 50,000 complete of which every completion prunes one.
//
// Calls of a command and of the smallest script alternate, in blocks of random length,
// so that the ratio means the same in each run. It did not when each had its turn for
// hundreds of calls: Redis makes Lua collect garbage at every fiftieth EVALSHA, whoever's
// it is, and u was as much as half again greater or smaller by what had run before.
// Blocks of one length will not do either, for then the fiftieth is always the same
// one's.
//
//	go test ./queue -run '^$' -bench '^BenchmarkCost' -benchtime 1x
func BenchmarkCost(b *testing.B) {
	for _, bm := range []struct {
		name     string
		unified  bool
		waiting  int
		complete int
	}{
		{"scripts", false, 100, 0},
		{"unified", true, 100, 0},
		{"million-waiting", false, 1_000_000, 0},
		{"pruning", false, 100, 50_000},
	} {
		b.Run(bm.name, func(b *testing.B) {
			raw := redistest.Start(b).Client(b)
			ctx := b.Context()
			fill(ctx, b, raw, bm.waiting, bm.complete)
			random := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				times := make(map[string][]float64) // µs per call, by command
				for round := range rounds {
					var u float64
					for _, m := range measured {
						script, first := queue.Unified(queue.DefaultNamespace, queue.Qless), []any{m.command}
						if !bm.unified {
							script, _ = queue.Script(queue.Qless, m.command, queue.DefaultNamespace)
							first = nil
						}
						command, alone := compareCalls(ctx, b, raw, random, script, func(i int) []any {
							return append(first, m.args(round*calls+i)...)
						})
						times[m.command] = append(times[m.command], command)
						u += alone / float64(len(measured))
					}
					times["u"] = append(times["u"], u)
				}
				u := undisturbed(times["u"])
				b.ReportMetric(u, "µs/u")
				for _, m := range measured {
					b.ReportMetric(undisturbed(times[m.command])/u, m.command+"-u")
				}
			}
		})
	}
}

// A round is short enough to be over, now and then, before another program gets the
// processor.
const (
	rounds = 60
	calls  = 250 // per round and command
)

// undisturbed returns the mean of the lower half of the times: the server's clock runs on
// while others have the processor, so disturbances make them longer and never shorter.
func undisturbed(times []float64) float64 {
	slices.Sort(times)
	return mean(times[:len(times)/2])
}

func mean(times []float64) float64 {
	var sum float64
	for _, time := range times {
		sum += time
	}
	return sum / float64(len(times))
}

// smallest is the script whose time is u.
const smallest = "return redis.call('zcard', ARGV[1])"

// measured are the commands in an order in which each finds the jobs it needs.
var measured = []measuredCommand{
	{"config.get", func(int) []any { return []any{"1763700000.125", "heartbeat"} }},
	{"length", func(int) []any { return []any{"1763700000.125", "q"} }},
	{"put", func(i int) []any {
		return []any{"1763700000.125", "w", "q", jid(i), "Klass", `{"path":"/usr/share/file"}`, "0", "priority", "1"}
	}},
	{"pop", func(int) []any { return []any{"1763700001.125", "q", "w", "1"} }},
	{"heartbeat", func(i int) []any { return []any{"1763700002.125", jid(i), "w"} }},
	{"complete", func(i int) []any { return []any{"1763700003.125", jid(i), "w", "q", `{"path":"/usr/share/file"}`} }},
}

type measuredCommand struct {
	command string
	args    func(i int) []any
}

// compareCalls runs a script, and as often the smallest, and returns the server's time per
// call of either, in µs.
func compareCalls(ctx context.Context, b *testing.B, raw *redis.Client, random *rand.Rand, script string,
	args func(i int) []any) (command, smallestScript float64) {
	b.Helper()
	pipe := raw.Pipeline()
	var shas [2]string
	for i, text := range []string{script, smallest} {
		pipe.ScriptLoad(ctx, text)
		sum := sha1.Sum([]byte(text))
		shas[i] = hex.EncodeToString(sum[:])
	}
	pipe.ConfigResetStat(ctx)
	var done [2]int
	var stats [2][]*redis.StringCmd
	for done[0]+done[1] < 2*calls {
		for which, sha := range shas {
			block := min(calls-done[which], 1+random.IntN(99))
			if block == 0 {
				continue
			}
			for i := done[which]; i < done[which]+block; i++ {
				words := []any{"absent"}
				if which == 0 {
					words = args(i)
				}
				pipe.EvalSha(ctx, sha, nil, words...)
			}
			done[which] += block
			stats[which] = append(stats[which], pipe.Info(ctx, "commandstats"))
			pipe.ConfigResetStat(ctx)
		}
	}
	must(pipe.Exec(ctx))(b)
	var total [2]float64
	for which := range stats {
		for _, info := range stats[which] {
			_, time := evalshas(b, info.Val())
			total[which] += time / calls
		}
	}
	return total[0], total[1]
}

func jid(i int) string { return fmt.Sprintf("%032x", i) }

// fill makes jobs that wait behind those to be measured, and jobs that are complete.
func fill(ctx context.Context, b *testing.B, raw *redis.Client, waiting, complete int) {
	b.Helper()
	const script = `
for i = ARGV[2], ARGV[3] do
  local jid = ARGV[1] .. i
  redis.call('HSET', 'ql:j:' .. jid, 'jid', jid, 'klass', 'Klass', 'data', '{}', 'priority', '0', 'tags', '{}',
    'state', ARGV[1], 'worker', '', 'expires', '0', 'queue', 'q', 'retries', '5', 'remaining', '5',
    'time', '1763600000.00000000000000000000')
  redis.call('RPUSH', 'ql:j:' .. jid .. '-history', '[1763600000,"put",{"q":"q"}]')
  if ARGV[1] == 'waiting' then
    redis.call('ZADD', 'ql:q:q-work', -0.17636 - i / 1e10, jid)
  else
    redis.call('ZADD', 'ql:completed', 1763600000 + i / 1e3, jid)
  end
end`
	for _, kind := range []struct {
		state string
		n     int
	}{{"waiting", waiting}, {"complete", complete}} {
		for i := 0; i < kind.n; i += 10_000 {
			if err := raw.Eval(ctx, script, nil, kind.state, i, min(i+10_000, kind.n)-1).Err(); err != nil && err != redis.Nil {
				b.Fatal(err)
			}
		}
	}
}
