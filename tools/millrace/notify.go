package main

import (
	"net"
	"os"
	"strings"
)

// notify sends a state to systemd by the protocol of sd_notify(3): a datagram to the socket in NOTIFY_SOCKET, whose
// name begins with @ if it is abstract. Without that variable it does nothing.
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		path = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
