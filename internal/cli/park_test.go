package cli

import (
	"cmp"
	"os/exec"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// What is said and done about a parked job: which it is, by jid or by class and correlation, what became of it, and why not.
func TestParkVerbs(t *testing.T) {
	s, client := scriptOn(t, "")
	const odd = "order 17/\u202e"
	parkOne(t, client, "j1", odd)
	parkOne(t, client, "j2", "order-2")
	s.env["ODD"] = odd
	for _, test := range []struct {
		code       int
		line, says string
	}{
		{0, "park ls payments", "order-2"},
		{0, "park ls --limit 1", "there may be more"},
		{0, "park ls --limit 0", "among those that were looked at"},
		{0, "park show j2", "waits for an answer to order-2 until"},
		{0, "park show Pay order-2 --json", `"state": "parked"`},
		{66, "park show j3", "there is no job j3"},
		{66, "park show Pay order-3", "no job of class Pay waits for an answer to order-3"},
		{64, "park show", "JID | KLASS CORRELATION"},
		{0, "park extend j1 --timeout 48h", "j1 waits until"},
		{0, "park extend Pay order-2 --timeout 3h --json", `"until"`},
		{64, "park extend j1", "--timeout 2h"},
		{64, "park extend j1 --timeout 0s", "a second at least"},
		{64, "park extend j1 --timeout 999999h", "ten years at most"},
		{0, "job why j2", "oarlock park extend j2 --timeout 2h"},
		{0, "park fail Pay order-2 --error broke", "j2 fails"},
		{66, "park fail j2", "j2 is not parked but waiting"},
		{66, "park extend j2 --timeout 1h", "j2 is not parked but waiting"},
		{0, "respond Pay order-2 1", "again"},
		{0, "respond Pay order-9 1", "for as long as park.keep_early says"},
		{0, "respond Pay $ODD 1 --end complete", "resumed: j1 ends with it"},
	} {
		err := s.oarlock(test.code, s.words(test.line))
		if all := s.said["stdout"] + s.said["stderr"]; err != nil || !strings.Contains(all, test.says) {
			t.Errorf("oarlock %s: %v\n%s\nwant %q", test.line, err, cmp.Or(all, "nothing"), test.says)
		}
	}
	if err := s.oarlock(0, s.words("park ls payments")); err != nil || strings.Contains(s.said["stdout"], "more") {
		t.Errorf("park ls: %v\n%s\nwant no word of others", err, s.said["stdout"])
	}
	job, err := client.Get(t.Context(), "j2")
	if err != nil || job.Kept.Answered != "came" {
		t.Errorf("j2 is %+v: %v", job, err)
	}
}

// What an answer is to name is shown so that a shell has it copied, whatever is in it.
func TestACorrelationIsAnsweredAsItIsShown(t *testing.T) {
	s, client := scriptOn(t, "")
	const odd = "a\x1b[31mb'\x07\nc"
	parkOne(t, client, "j", odd)
	const shown = `$'a\033[31mb\047\007\nc'`
	for _, line := range []string{"park ls", "park show j", "job why j"} {
		if said := s.says(t, exitOK, line, shown); strings.ContainsAny(said, "\x1b\x07") {
			t.Errorf("oarlock %s says %q", line, said)
		}
	}
	read := must.Get(exec.Command("bash", "-c", "printf %s "+shown).Output())(t)
	if err := s.oarlock(exitOK, []string{"respond", "Pay", string(read), "1"}); err != nil || !strings.HasPrefix(s.said["stdout"], "resumed") {
		t.Errorf("%v: %s%s", err, s.said["stdout"], s.said["stderr"])
	}
}

// Parked jobs are listed by when their time is over, whatever queues they are in.
func TestParkedJobsInOrder(t *testing.T) {
	s, c := scriptOn(t, "")
	parkOne(t, c, "first", "order-1")
	s.says(t, exitOK, "queue mv payments elsewhere", "1 job")
	parkOne(t, c, "last", "order-2")
	parkOne(t, c, "middle", "order-3")
	s.says(t, exitOK, "park extend middle --timeout 24h")
	s.says(t, exitOK, "park extend last --timeout 48h")
	for _, queues := range []string{"", " payments elsewhere", " elsewhere payments"} {
		said := s.says(t, exitOK, "park ls"+queues)
		if first, middle, last := strings.Index(said, "order-1"), strings.Index(said, "order-3"), strings.Index(said, "order-2"); first < 0 || first > middle || middle > last {
			t.Errorf("park ls%s says\n%s", queues, said)
		}
	}
}
