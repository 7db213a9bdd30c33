package cli

import (
	"regexp"
	"strings"
	"testing"
)

func TestDevShowsLinesAsAProcessManagerDoes(t *testing.T) {
	s := newScript(t, strings.Replace(workFiles, "case", "echo oops >&2\ncase", 1))
	p := begin(t, s, "dev", "--data", "kept")
	url := p.await(`redis://`)
	s.env["REDIS_URL"] = regexp.MustCompile(`redis://\S+`).FindString(url)
	p.await(`^oarlock \| \S+ INFO  ready`)
	p.ask("put", "work", `"good"`)
	p.await(`^oarlock \| .*outcome=done`)
	shown := strings.Join(p.seen, "\n")
	for _, want := range []string{`work\[0\] \| working on "good"`, `work\[0\] ! oops`} {
		if !regexp.MustCompile("(?m)^" + want + "$").MatchString(shown) {
			t.Errorf("there is no line %s:\n%s", want, shown)
		}
	}
	p.terminate()
}
