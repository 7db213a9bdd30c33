package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shelf is the files of one pool: DIR/MARK-NUMBER.json, one an attempt, numbered in the order
// in which they came. It belongs to the goroutine that writes.
type shelf struct {
	dir   string
	files []file // oldest first
	jobs  map[string]int
	bytes int64
	last  uint64 // the highest number
	fresh int    // files written since the directory was read
}

// file is one attempt on a shelf.
type file struct {
	mark   string
	number uint64
	size   int64
}

const (
	// block is the least room that a file takes.
	block = 4 << 10
	// readAgain is after how many files the directory is looked at anew: another supervisor
	// with the same state directory may write there too.
	readAgain  = 200
	unfinished = ".unfinished"
)

func (f *file) name() string { return fmt.Sprintf("%s-%016x.json", f.mark, f.number) }

// parseName is the opposite of name.
func parseName(name string) (f file, ok bool) {
	mark, rest, _ := strings.Cut(name, "-")
	digits, isJSON := strings.CutSuffix(rest, ".json")
	number, err := strconv.ParseUint(digits, 16, 64)
	return file{mark: mark, number: number}, isJSON && err == nil
}

// read looks at what is in the directory.
func (s *shelf) read() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	s.files, s.jobs, s.bytes, s.fresh = nil, map[string]int{}, 0, 0
	for _, entry := range entries {
		f, ok := parseName(entry.Name())
		info, err := entry.Info()
		if err != nil {
			continue // somebody else has just removed it
		}
		if !ok {
			if strings.HasSuffix(entry.Name(), unfinished) && time.Since(info.ModTime()) > time.Minute {
				_ = os.Remove(filepath.Join(s.dir, entry.Name())) // its writer died
			}
			continue
		}
		f.size = max(info.Size(), block)
		s.put(f)
	}
	slices.SortFunc(s.files, func(a, b file) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	return nil
}

func (s *shelf) put(f file) {
	s.files = append(s.files, f)
	s.jobs[f.mark]++
	s.bytes += f.size
	s.last = max(s.last, f.number)
}

// add writes a file, and makes room for it before.
func (s *shelf) add(p *Printed) error {
	if s.jobs == nil || s.fresh >= readAgain {
		if err := s.read(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// A clock that jumps back must not make the new older than the old.
	f := file{mark: mark(p.JID), number: max(uint64(time.Now().UnixMicro()), s.last+1), size: max(int64(len(text)), block)}
	s.makeRoom(&f)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.dir, f.name())
	if err := write(path+unfinished, text); err != nil {
		_ = os.Remove(path + unfinished)
		return err
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	s.put(f)
	s.fresh++
	return nil
}

// makeRoom removes the oldest files until one more fits.
func (s *shelf) makeRoom(f *file) {
	gone := 0
	for ; gone < len(s.files); gone++ {
		jobs := len(s.jobs)
		if s.jobs[f.mark] == 0 {
			jobs++
		}
		if jobs <= MaxJobs && s.bytes+f.size <= MaxBytes {
			break
		}
		old := &s.files[gone]
		_ = os.Remove(filepath.Join(s.dir, old.name())) // if it stays, it is found when the directory is read again
		s.bytes -= old.size
		if s.jobs[old.mark]--; s.jobs[old.mark] == 0 {
			delete(s.jobs, old.mark)
		}
	}
	s.files = slices.Delete(s.files, 0, gone)
}

// write makes a new file for nobody else to read.
func write(path string, text []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}
