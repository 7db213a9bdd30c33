package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"oarlock/queue"
)

// TendedWords says in a few words what Tend found that nobody had who lives, and that went on: turns by why, then places by throttle, of
// which it names the first five.
func TendedWords(t *queue.Tended) string {
	var words []string
	for _, cause := range slices.Sorted(maps.Keys(t.Mended)) {
		words = append(words, fmt.Sprintf("turns that went on (%s): %d", cause, t.Mended[cause]))
	}
	throttles := slices.Sorted(maps.Keys(t.Places))
	for i, id := range throttles {
		if i == 5 {
			words = append(words, fmt.Sprintf("and of %d other throttles", len(throttles)-i))
			break
		}
		words = append(words, fmt.Sprintf("places of throttle %s given back: %d", id, t.Places[id]))
	}
	return strings.Join(words, ", ")
}
