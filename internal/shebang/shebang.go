// Package shebang answers why the kernel will not run a file that is there and executable: whoever starts it says so
// when that has failed, and whoever checks a configuration before, in the same words. It reads the first bytes of the file, and starts
// nothing.
package shebang

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// NoFormat says of a file that the kernel does not know what to do with it.
const NoFormat = "it is neither a program for this machine nor a script whose first line names its interpreter (#!/bin/sh)"

// headSize is how much of a file the kernel looks at.
const headSize = 256

// Trouble says why the kernel would not run the regular file, started in the directory dir; "" if nothing is known to be wrong with it.
func Trouble(file, dir string) string {
	head, read := headOf(file)
	line, script := firstLine(head)
	switch {
	case !read:
		return ""
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf#!")):
		return "a byte order mark stands before its first line, which so names no interpreter: sed -i '1s/^\\xef\\xbb\\xbf//' " + file
	case !script && !bytes.Contains(head, []byte{0}) && !moreFormats():
		return NoFormat
	case !script:
		return ""
	case strings.HasSuffix(line, "\r"):
		return ofWindows("the kernel takes that for a part of what the first line names", file)
	}
	interpreter, _ := split(line)
	if interpreter == "" {
		return NoFormat
	}
	if !filepath.IsAbs(interpreter) {
		interpreter = filepath.Join(dir, interpreter)
	}
	if _, err := os.Stat(interpreter); errors.Is(err, fs.ErrNotExist) {
		return "its first line names an interpreter that is not there: " + strconv.QuoteToGraphic(line)
	}
	return ""
}

// ToShells says why a shell cannot read the file; "" if nothing is known to be wrong with it.
func ToShells(file string) string {
	head, _ := headOf(file)
	if line, _, whole := bytes.Cut(head, []byte("\n")); whole && bytes.HasSuffix(line, []byte("\r")) {
		return ofWindows("a shell takes that for a part of the last word of each", file)
	}
	return ""
}

func ofWindows(harm, file string) string {
	return "its lines end as those of Windows do, and " + harm + ": sed -i 's/\\r$//' " + file
}

// OfEnv is the program that the first line of a script has env look for in PATH; "" if it does not, or says more to env than that.
func OfEnv(file string) string {
	head, _ := headOf(file)
	line, _ := firstLine(head)
	interpreter, argument := split(line)
	if path.Base(interpreter) != "env" {
		return ""
	}
	words := strings.Fields(argument)
	if len(words) > 1 && words[0] == "-S" {
		words = words[1:]
	} else {
		words = words[:min(1, len(words))] // the kernel makes one argument of all, blanks included
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.ContainsAny(words[0], "=/\\'\"${") {
		return ""
	}
	return words[0]
}

// headOf returns what the kernel looks at.
func headOf(name string) (head []byte, read bool) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, false
	}
	defer file.Close()
	head = make([]byte, headSize)
	n, err := io.ReadFull(file, head)
	return head[:n], err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// firstLine is what stands behind #! on the first line of a script.
func firstLine(head []byte) (line string, script bool) {
	text, script := bytes.CutPrefix(head, []byte("#!"))
	if !script {
		return "", false
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return strings.Trim(string(text), " \t"), true
}

// split parts a first line as the kernel does: into a file, and one argument.
func split(line string) (interpreter, argument string) {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.Trim(line[at:], " \t")
}

// moreFormats tells whether somebody has told the kernel of other formats (binfmt_misc), which may be any.
func moreFormats() bool {
	entries, _ := os.ReadDir("/proc/sys/fs/binfmt_misc")
	return len(entries) > 2 // "register" and "status" are always there
}
