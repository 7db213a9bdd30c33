// Package explain tells people in sentences what holds a job and what happened to it. It only reads: it owns no state,
// and changes nothing in Redis. It must not know the command line, nor how its sentences are shown.
package explain
