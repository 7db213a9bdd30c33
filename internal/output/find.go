package output

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Errors of Find.
var (
	// ErrNone says that nothing is kept of a job.
	ErrNone = errors.New("nothing is kept of it")
	// ErrHangs says that the directory does not answer.
	ErrHangs = errors.New("the state directory does not answer")
)

const (
	// searchLimit is how long a search may take.
	searchLimit = 5 * time.Second
	// fileLimit is more than any file that we write: what is kept is bounded, its JSON by six times that.
	fileLimit = 128 << 20
)

// Find returns the attempts of a job of which output is kept, oldest first, and what was
// printed in the last of them with the number attempt, or that is run, or in the last of all if these are 0 and empty. It waits for
// seconds at most, and returns ErrNone if there is none.
func (s *Store) Find(ctx context.Context, jid string, attempt int, run string) ([]Attempt, *Printed, error) {
	ctx, cancel := context.WithTimeout(ctx, searchLimit)
	defer cancel()
	select {
	case s.searches <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ErrHangs
	}
	type result struct {
		all   []Attempt
		found *Printed
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with its last file; no other begins before
		defer func() { <-s.searches }()
		all, found, err := s.search(jid, attempt, run)
		done <- result{all, found, err}
	}()
	select {
	case r := <-done:
		return r.all, r.found, r.err
	case <-ctx.Done():
		return nil, nil, ErrHangs
	}
}

func (s *Store) search(jid string, attempt int, run string) (all []Attempt, found *Printed, err error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), "*", mark(jid)+"-*.json"))
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(paths, func(a, b string) int { // by number: names are as long
		if filepath.Base(a) < filepath.Base(b) {
			return -1
		}
		return 1
	})
	for _, path := range paths {
		p, err := readFile(path)
		if err != nil || p.JID != jid {
			continue // it was just removed, or is none of ours
		}
		all = append(all, p.Attempt)
		if (attempt == 0 || p.Attempt.Attempt == attempt) && (run == "" || p.Run == run) {
			found = p
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, ErrNone
	case found == nil:
		return all, nil, ErrNone
	}
	return all, found, nil
}

func readFile(path string) (*Printed, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, fileLimit))
	if err != nil {
		return nil, err
	}
	p := &Printed{}
	return p, json.Unmarshal(text, p)
}

// escapeGlob makes a path one that matches itself only.
func escapeGlob(path string) string {
	var out []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}
