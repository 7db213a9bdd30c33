// Oarlock pops jobs from Redis, runs each in a child process of any language,
// and tells Redis what became of it.
package main

func main() {}
