package redistest

import (
	"net"
	"testing"
)

// A port is one test's alone, also where another test is another process, and may be listened on.
func TestPort(t *testing.T) {
	given := make(map[string]bool)
	for range 500 {
		port := Port(t)
		if given[port] {
			t.Fatalf("%s was given twice", port)
		}
		given[port] = true
	}
	for port := range given {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
