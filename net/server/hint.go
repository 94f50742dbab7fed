package server

import (
	"bytes"
	"time"
)

// hint logs, once a minute, what first refused bytes look like: most of them are
// somebody at the wrong port.
func (s *Server) hint(c *Conn, first []byte, what string) {
	if s.hintLog.ok(time.Now()) {
		s.log.Warn("refused what a client sent", "remote", c.remote, "listener", c.listener.Name,
			"why", what, "looks_like", looksLike(first))
	}
}

// looksLike names the protocol that a connection which does not speak Kafka's
// speaks, by its first bytes.
func looksLike(first []byte) string {
	for _, method := range []string{"GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "CONN", "PATC", "TRAC", "PRI "} {
		if bytes.HasPrefix(first, []byte(method)) {
			return "HTTP request on a Kafka port"
		}
	}
	switch {
	case len(first) >= 2 && first[0] == 0x16 && first[1] == 3:
		return "TLS handshake on a plaintext port: security.protocol of the client and of the listener differ"
	case bytes.HasPrefix(first, []byte("SSH-")):
		return "SSH on a Kafka port"
	}
	return "no Kafka request"
}
