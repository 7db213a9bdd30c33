package cli

import (
	"strings"
	"testing"

	"oarlock/internal/must"
)

// A job for a queue that no supervisor works is put, and it is said so, with the nearest that one works.
func TestAPutIntoAQueueThatNobodyWorks(t *testing.T) {
	s, c := scriptOn(t, "")
	const told = "No supervisor works queue "
	if text := s.says(t, 0, "put reportz 1"); strings.Contains(text, told) {
		t.Errorf("where no supervisor ever worked, it says %s", text)
	}
	must.Do(t, c.NoteServed(t.Context(), []string{"reports", "mail-*"}))
	s.says(t, 0, "put reportz 1 --jid z", told+"reportz; did you mean reports?")
	s.says(t, 0, "put reportz 1 --json", told+"reportz; did you mean reports?")
	for _, queue := range []string{"reports", "mail-7"} {
		if text := s.says(t, 0, "put "+queue+" 1 --jid "+queue); strings.Contains(text, told) {
			t.Errorf("of %s it says %s", queue, text)
		}
	}
	s.says(t, 0, "job why z", told+"reportz: name it in the queues of a pool.")
	s.says(t, 0, "job why mail-7", "ago that it works this queue", "oarlock status --all")
	must.Get(c.Pop(t.Context(), "reportz", "another program's", 1))(t)
	if text := s.says(t, 0, "put reportz 1"); strings.Contains(text, told) {
		t.Errorf("of a queue from which somebody took, it says %s", text)
	}
}
