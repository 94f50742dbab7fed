package config

import (
	"net"
	"strconv"
	"testing"
)

// Whatever stands in listeners: it is refused, or each listener can be listened on as it is written.
func FuzzListeners(f *testing.F) {
	for _, s := range []string{
		"PLAINTEXT://:9092", "PLAINTEXT://[::1]:9092", "A://h:1,B://[fe80::1%eth0]:2", "PLAINTEXT://::1:9092", "://:1", "X://:-1", "PLAINTEXT://a:1,PLAINTEXT://a:1", ",",
	} {
		f.Add(s, "PLAINTEXT://localhost:1", "PLAINTEXT:PLAINTEXT,A:PLAINTEXT,B:PLAINTEXT")
	}
	f.Fuzz(func(t *testing.T, listeners, advertised, protocols string) {
		b, _, err := Load(map[string]string{"listeners": listeners, "advertised.listeners": advertised, "listener.security.protocol.map": protocols})
		if err != nil {
			return
		}
		if len(b.Listeners) == 0 {
			t.Fatal("no listener")
		}
		for _, l := range b.Listeners {
			host, port, err := net.SplitHostPort(l.Address())
			if err != nil || host != l.Host || port != strconv.Itoa(int(l.Port)) {
				t.Errorf("%+v has the address %s", l, l.Address())
			}
			if l.Name == "" || l.Protocol != "PLAINTEXT" || l.AdvertisedHost == "" {
				t.Errorf("%+v", l)
			}
		}
	})
}
