package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestJobsBeyondTheBounds: jobs of other clients that no put of ours takes are counted and named, by what they have too much of; those
// at the bounds are not.
func TestJobsBeyondTheBounds(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, raw, ctx := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL}))(t), server.Client(t), t.Context()
	defer client.Close()
	names := func(n, bytes int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0*d", bytes, i)
		}
		return string(must.Get(json.Marshal(list))(t))
	}
	foreign := func(prefix, jid string, fields ...any) {
		job := append([]any{"jid", jid, "klass", "K", "queue", "q", "state", "complete", "data", "{}"}, fields...)
		must.Do(t, raw.HSet(ctx, "ql:"+prefix+jid, job...).Err())
	}
	long := strings.Repeat("x", queue.MaxName)
	foreign("j:", "at-the-bounds", "klass", long, "queue", long, "tags", names(queue.MaxTags, queue.MaxName), "throttles", names(queue.MaxThrottles, queue.MaxName))
	foreign("j:", strings.Repeat("j", queue.MaxJID))
	foreign("j:", strings.Repeat("j", queue.MaxJID+1))
	foreign("j:", "klass", "klass", long+"x")
	foreign("j:", "queue", "queue", long+"x")
	for i := range 5 {
		foreign("j:", fmt.Sprint("tags", i), "tags", names(queue.MaxTags+1, 4))
	}
	foreign("j:", "tag", "tags", names(1, queue.MaxName+1))
	foreign("j:", "huge", "tags", names(20_000, 40))
	foreign("j:", "throttles", "throttles", names(queue.MaxThrottles+1, 4))
	foreign("r:", "every", "klass", long+"x")
	members := make([]any, queue.MaxDepends+1)
	for i := range members {
		members[i] = i
	}
	for _, jid := range []string{"many", "few"} {
		foreign("j:", jid)
		must.Do(t, raw.SAdd(ctx, "ql:j:"+jid+"-dependents", members...).Err())
		must.Do(t, raw.SAdd(ctx, "ql:j:"+jid+"-dependencies", members...).Err())
	}
	must.Do(t, raw.SRem(ctx, "ql:j:few-dependents", 1).Err())
	must.Do(t, raw.SRem(ctx, "ql:j:few-dependencies", 1).Err())
	want := []string{
		"1 job has a jid of more than 512 bytes: jjj", "1 job has a class of more than 1024 bytes: klass.", "1 job has a queue name of more than 1024 bytes: queue.",
		"7 jobs have more than 256 tags, or a tag of more than 1024 bytes: ", ", and 4 more.", "1 job has more than 64 throttles, or one with a name of more than 1024 bytes: throttles.",
		"1 job has more than 10,000 dependencies: many.", "1 job has more than 10,000 dependents: many.", "1 recurring job has a class of more than 1024 bytes: every.",
	}
	var told strings.Builder
	d := &Doctor{Client: client, Report: func(f Finding) {
		if f.Subject == "bounds" && f.Level == Warning && f.Advice != "" {
			fmt.Fprintln(&told, f.Text)
		}
	}}
	must.Do(t, d.Keys(ctx))
	for _, text := range want {
		if !strings.Contains(told.String(), text) {
			t.Errorf("%q is not said:\n%s", text, &told)
		}
	}
	if n := strings.Count(told.String(), "\n"); n != 8 {
		t.Errorf("%d findings, want 8:\n%s", n, &told)
	}
}
