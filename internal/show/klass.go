package show

import (
	"io"
	"slices"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Klasses lists the tables of classes.
func Klasses(w io.Writer, all []ops.KlassRule) {
	var rows [][]string
	for _, k := range all {
		words := slices.Concat(atTheGate(k), k.AtThePut(), k.AtWork())
		if len(words) == 0 {
			words = []string{"nothing of its own"}
		}
		rows = append(rows, []string{k.Klass, strings.Join(words, "; "), k.Owner})
	}
	screen.Table(w, "No rule is of a class.", []string{"CLASS", "SAYS", "OF"}, rows)
}

// Klass tells what counts for jobs of a class.
func Klass(w io.Writer, k ops.KlassRule, klass string) {
	if k.Klass == klass {
		screen.Printf(w, "Of jobs of class %s:\n", klass)
	} else {
		screen.Printf(w, "Of jobs of class %s counts klass.%s:\n", klass, k.Klass)
	}
	each := func(when string, words []string, usual string) {
		if len(words) == 0 {
			words = []string{usual}
		}
		screen.Printf(w, "  %s: %s\n", when, strings.Join(words, "; "))
	}
	each("to run", atTheGate(k), "what their queue needs")
	each("when put", k.AtThePut(), "as any job")
	each("at work, by this configuration", k.AtWork(), "as their pool says")
	if k.Owner != "" {
		screen.Printf(w, "  the rules are of %s\n", k.Owner)
	}
}

// atTheGate is what jobs of the class need to run, beside what their queue says.
func atTheGate(k ops.KlassRule) (words []string) {
	switch {
	case k.Bypass:
		words = append(words, "bypass")
	case k.Weight > 1:
		words = append(words, screen.Some(k.Weight, "place")+" of each throttle")
	}
	if len(k.Throttles) > 0 {
		words = append(words, "throttles "+strings.Join(k.Throttles, " "))
	}
	if len(k.Windows) > 0 {
		words = append(words, "windows "+strings.Join(k.Windows, " "))
	}
	if len(words) > 0 {
		words[len(words)-1] += " in " + strings.Join(k.Queues, " ")
	}
	return words
}
