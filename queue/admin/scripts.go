package admin

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

// texts are the scripts, each of which says at its top what it takes and answers. They are for a doctor and a bench, nothing at work calls them,
// and are no part of what queue/lua makes.
//
//go:embed *.lua
var texts embed.FS

var (
	beyondScript       = scriptOf("beyond")
	behindScript       = scriptOf("behind")
	countedScript      = scriptOf("counted")
	dependenciesScript = scriptOf("dependencies")
	ghostsScript       = scriptOf("ghosts")
	holdersScript      = scriptOf("holders")
	jobsScript         = scriptOf("jobs")
	lanesScript        = scriptOf("lanes")
	listedScript       = scriptOf("listed")
	membersScript      = scriptOf("members")
	orderedScript      = scriptOf("ordered")
	runsScript         = scriptOf("runs")
	seatsScript        = scriptOf("seats")
	sharedScript       = scriptOf("shared")
	turnScript         = scriptOf("turn")
)

// scriptOf is the script of a name, behind what all of them share.
func scriptOf(name string) *redis.Script { return redis.NewScript(textOf("common") + textOf(name)) }

func textOf(name string) string {
	text, err := texts.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // embedded files are always there
	}
	return string(text)
}
