package config

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Sum tells what stands in files: it is equal only where their names and contents are, or
// why they cannot be read.
type Sum [sha256.Size]byte

// mostLooks is how often Steady reads what does not stand still, before it gives up.
const mostLooks = 50

// Steady reads a configuration by read until it has found the same twice in a row: what
// somebody is still writing is nothing that anybody meant. It waits a tenth of a second in
// between, and gives up after five.
func Steady(read func() (Config, error)) (Config, error) {
	last, _ := read()
	for range mostLooks {
		time.Sleep(stillness)
		next, err := read()
		if next.Sum == last.Sum {
			return next, err
		}
		last = next
	}
	return last, fmt.Errorf("the configuration does not stand still: it was written %d times within %v; write it anew and rename it over the old one", mostLooks, mostLooks*stillness)
}

// content is what stands in one file.
type content struct {
	name string
	text []byte
	from origin
	err  error // why it cannot be read
}

// readAll reads files, and those of conf.d beside the first, which come after the first.
func readAll(files []string) []content {
	extra, _ := filepath.Glob(filepath.Join(filepath.Dir(files[0]), "conf.d", "*.toml"))
	var all []content
	for _, name := range append(append(files[:1:1], extra...), files[1:]...) {
		text, from, err := readFile(name)
		all = append(all, content{name, text, from, err})
	}
	return all
}

func sumOf(all []content) Sum {
	sum := sha256.New()
	for _, f := range all {
		fmt.Fprintf(sum, "%s\x00%d\x00%v\x00", f.name, len(f.text), f.err)
		sum.Write(f.text)
	}
	return Sum(sum.Sum(nil))
}

// mostRead is the longest file that is taken for a configuration, in bytes.
const mostRead = 16 << 20

func readFile(name string) ([]byte, origin, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, origin{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostRead+1))
	if err == nil && len(text) > mostRead {
		err = fmt.Errorf("%s is longer than %d MiB: that is no configuration", name, mostRead>>20)
	}
	if err != nil {
		return nil, origin{}, err
	}
	from, err := originOf(name, file)
	return text, from, err
}
