package redistest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Port is a TCP port of the loopback that nobody listens on and that no other test is given until this one ends. It is below those
// that the kernel gives to whoever asks for any, and so low that a Redis of a cluster may have the one that is 10,000 above it.
func Port(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10_000 + rand.IntN(10_000))
		claim, err := net.Listen("unix", "@oarlock-test-port-"+port) // a name without a file, gone with its process
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			claim.Close()
			continue
		}
		probe.Close()
		t.Cleanup(func() { claim.Close() })
		return port
	}
	t.Fatal("redistest: no port is free")
	return ""
}
