// Package lua holds the sources of the scripts: one file per command in a directory per dialect,
// in lib the functions they share, and in plain what a command of batch does before it makes any of these. It owns their text and nothing else; package script puts
// them together.
package lua

import "embed"

// Files are the directories of sources.
//
//go:embed batch lib oarlock plain qless reqless
var Files embed.FS
