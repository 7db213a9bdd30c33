//go:build !linux

package control

import "net"

// trusted leaves it to the mode of the socket who may connect.
func trusted(net.Conn) bool { return true }
