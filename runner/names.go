package runner

import (
	"fmt"
	"slices"
	"strings"
)

// nameOf returns what v is called, in names that stand in the order of the values.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

// named returns the value that is called name; the error says what there is. kind is what the values are.
func named[T ~uint8](kind, name string, names []string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("%s %q: use one of %s", kind, name, strings.Join(names, ", "))
	}
	return T(i), nil
}
