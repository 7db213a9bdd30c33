package decider

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// The program in the documents, run as it stands there, decides about jobs whatever their data is.
func TestTheProgramInTheDocuments(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("SKIPPED python3 is not installed (apt install python3): %v", err)
	}
	text := must.Get(os.ReadFile("../../docs/limits.md"))(t)
	_, program, _ := strings.Cut(string(text), "```python\n")
	program, _, found := strings.Cut(program, "```\n")
	if !found {
		t.Fatal("there is no program in docs/limits.md")
	}
	for _, data := range []string{`[1,2]`, `null`, `"x"`, `7`, `{}`, `{"node":6}`} {
		cmd := exec.Command(python, "-c", program)
		cmd.Stdin = strings.NewReader(`{"running":[{"jid":"r"}],"candidates":[{"jid":"held","data":{"node":7}},{"jid":"a","data":` + data + `},{"jid":"b","data":null}]}` + "\n")
		var trouble bytes.Buffer
		cmd.Stderr = &trouble
		out, err := cmd.Output()
		var answer struct {
			Start []string
			Hold  map[string]float64
		}
		if err == nil {
			err = json.Unmarshal(out, &answer)
		}
		if err != nil || !slices.Equal(answer.Start, []string{"a"}) || answer.Hold["held"] != 30 {
			t.Errorf("of data %s it says %s (%v)\n%s", data, out, err, trouble.String())
		}
	}
}
