package metrics

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"oarlock/protocol"
)

// mostLabel is how many bytes of a name that somebody chose stand in a label.
const mostLabel = 128

// marked is how a label ends that is not the name itself.
var marked = regexp.MustCompile(`~[0-9a-f]{8}$`)

// label is a name as a label: as it is where it can be shown and is not long, else made so and cut, with a mark of the
// whole behind it, so that no two names have the same label.
func label(name string) string {
	text := name[:min(len(name), mostLabel)]
	shown := string(protocol.Visible(nil, []byte(text)))
	if shown == name && utf8.ValidString(name) && !marked.MatchString(name) {
		return name
	}
	shown = strings.ToValidUTF8(shown[:min(len(shown), mostLabel)], "")
	return fmt.Sprintf("%s~%x", shown, sha256.Sum256([]byte(name)))[:len(shown)+9]
}
