package queue_test

import (
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// An answer that a child cannot read is refused at each of the three doors, with the reason.
func TestAnswersThatNoChildReads(t *testing.T) {
	server := redistest.Shared(t)
	c, ctx, redis := openURL(t, server.URL), t.Context(), server.Client(t)
	nested := func(deep int) string { return strings.Repeat("[", deep) + strings.Repeat("]", deep) }
	for says, texts := range map[string][]string{
		"UTF-8": {"\"caf\xe9\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe4\xb8\"", "\"\xc3\xa9\xa9\""},
		"deep":  {nested(501), `{"a":"` + strings.Repeat("]", 600) + `\"]","b":` + nested(500) + `}`},
		"":      {`"né 世 🎉"`, nested(500), `{"a":"` + strings.Repeat("[", 2000) + `\"["}`},
	} {
		for i, text := range texts {
			correlation := says + string(rune('a'+i))
			if err := redis.RPush(ctx, "ql:oarlock:responses", "K\n"+correlation+"\n"+text).Err(); err != nil {
				t.Fatal(err)
			}
			_, broken, err := c.RespondInbox(ctx)
			if err != nil || (broken == 1) != (says != "") {
				t.Errorf("pushed %.40q: %d set aside, %v", text, broken, err)
			}
			if says != "" {
				if why := redis.LIndex(ctx, "ql:oarlock:responses-broken", -1).Val(); !strings.Contains(why, says) {
					t.Errorf("of %.40q is said %.200s", text, why)
				}
			}
			results, err := c.RespondAll(ctx, []queue.Response{{Klass: "L", Correlation: correlation, Data: []byte(text)}})
			if err == nil {
				err = results[0].Err
			}
			if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("answered %.40q: %v", text, err)
			}
		}
	}
}
