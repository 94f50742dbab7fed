package rig

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that the kernel gives to outgoing connections:
// clients dial a dead broker all the time, and one that is given the very port it dials
// connects to itself and keeps the broker from listening.
const (
	firstPort = 15000
	lastPort  = 30000
)

// FindPorts fills in a free port on 127.0.0.1 where the address is empty. They could be taken between here and the
// broker's start; then the broker says so and the run fails.
func FindPorts(addrs ...*string) error {
	for _, addr := range addrs {
		for tries := 0; *addr == ""; tries++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort)))
			if err == nil {
				defer l.Close()
				*addr = l.Addr().String()
			} else if tries == 100 {
				return fmt.Errorf("find a free port: %w", err)
			}
		}
	}
	return nil
}
