package show

import (
	"bytes"
	"testing"

	"oarlock/internal/service"
)

// A reload that finds nothing to do does not leave it at that if what was rolled in was given up.
func TestAReloadTellsOfWhatWasGivenUp(t *testing.T) {
	var out bytes.Buffer
	Reloaded(&out, service.Reloaded{GivenUp: []string{"p"}})
	const want = "nothing has changed\nof p a generation was given up, see `oarlock status`; `oarlock recycle p` tries again\n"
	if got := out.String(); got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
}
