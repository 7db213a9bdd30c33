package inbox

import "sync"

// Names are told to a loop all together, for thousands may come at once: those that came since it
// last took them. The zero value is ready. Safe for concurrent use.
type Names struct {
	mu    sync.Mutex
	names map[string]struct{}
}

// Add notes a name, and reports whether it is the first that the loop has to be told of.
func (n *Names) Add(name string) (first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if first = len(n.names) == 0; first {
		n.names = map[string]struct{}{}
	}
	n.names[name] = struct{}{}
	return first
}

// Take returns all of them, and begins anew.
func (n *Names) Take() map[string]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := n.names
	n.names = nil
	return names
}
