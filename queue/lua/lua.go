// Package lua holds the sources of the scripts: one file per command in a directory per dialect,
// and in lib the functions they share. It owns their text and nothing else; package script puts
// them together.
package lua

import "embed"

// Files are the directories of sources.
//
//go:embed batch lib oarlock qless reqless
var Files embed.FS
