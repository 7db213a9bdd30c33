// Package assets holds what the pages load beside themselves: one style sheet, one script, one icon. It owns their
// bytes, which are part of the program, and their names, which change with the bytes, so that a browser may keep them
// for ever. It must not know the pages.
package assets

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed style.css script.js icon.svg
var files embed.FS

// file is one of them.
type file struct {
	kind string // its Content-Type
	text []byte
}

// kinds are the files that there are.
var kinds = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"script.js": "text/javascript; charset=utf-8",
	"icon.svg":  "image/svg+xml",
}

// read gives the names of the files by what they are called in the source, and the files by those names.
var read = sync.OnceValues(func() (names map[string]string, byName map[string]file) {
	names, byName = map[string]string{}, map[string]file{}
	for plain, kind := range kinds {
		text, err := files.ReadFile(plain)
		if err != nil {
			panic(err) // they are embedded by the same names
		}
		sum := sha256.Sum256(text)
		ext := path.Ext(plain)
		name := strings.TrimSuffix(plain, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		names[plain], byName[name] = name, file{kind, text}
	}
	return names, byName
})

// Name is what the file style.css, script.js or icon.svg is called for as long as its bytes are what they are; "" is
// that of no other.
func Name(plain string) string {
	names, _ := read()
	return names[plain]
}

// Serve answers a request for the file of that name, which a browser may keep for a year; 404 if there is none. Names are
// looked up in a table: none leads out of it.
func Serve(w http.ResponseWriter, r *http.Request, name string) {
	_, byName := read()
	f, is := byName[name]
	if !is {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.text))
}
