package config

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Listener is one parsed entry of listeners with its advertised address.
type Listener struct {
	Name           string // PLAINTEXT
	Protocol       string // PLAINTEXT, SSL ... by listener.security.protocol.map
	Host           string // without brackets; empty: all interfaces
	Port           int32  // 0: the kernel chooses
	AdvertisedHost string
	AdvertisedPort int32 // 0: as bound
}

// Address is HOST:PORT, as net.Listen takes it.
func (l *Listener) Address() string { return net.JoinHostPort(l.Host, fmt.Sprint(l.Port)) }

// Loopback reports whether only this machine can reach the listener.
func (l *Listener) Loopback() bool { return isLoopback(l.Host) }

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func isUnspecified(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.Unmap().IsUnspecified()
}

// endpoint is NAME://HOST:PORT.
type endpoint struct {
	name, host string
	port       int32
}

func parseEndpoint(s string) (endpoint, error) {
	name, address, ok := strings.Cut(s, "://")
	if !ok || name == "" {
		return endpoint{}, Refusal("Unable to parse " + s + " to a broker endpoint: must be NAME://HOST:PORT")
	}
	host, port, err := splitHostPort(address)
	if err != nil {
		return endpoint{}, Refusal("Unable to parse " + s + " to a broker endpoint: " + err.Error())
	}
	if strings.ContainsAny(host, "[]/ \t") {
		return endpoint{}, Refusal("Unable to parse " + s + " to a broker endpoint: bad host")
	}
	return endpoint{strings.ToUpper(name), host, port}, nil
}

// listeners parses listeners, advertised.listeners and the protocol map. Controller listeners are left out.
func (b *Broker) listeners() (found []Listener, warnings []string, err error) {
	protocols, err := parseProtocolMap(b.str("listener.security.protocol.map"))
	if err != nil {
		return nil, nil, err
	}
	advertised, err := b.endpoints("advertised.listeners")
	if err != nil {
		return nil, nil, err
	}
	bound, err := b.endpoints("listeners")
	if err != nil {
		return nil, nil, err
	}
	isController := func(name string) bool {
		return slices.ContainsFunc(b.list("controller.listener.names"), func(c string) bool { return strings.EqualFold(c, name) })
	}
	for _, e := range bound {
		if isController(e.name) {
			warnings = append(warnings, "listeners: the controller listener "+e.name+" is not opened: Millrace keeps its metadata itself")
			continue
		}
		l := Listener{Name: e.name, Protocol: protocols[e.name], Host: e.host, Port: e.port}
		if l.Protocol == "" {
			return nil, nil, b.invalid("listener.security.protocol.map", "it has no security protocol for listener "+e.name)
		}
		if l.Protocol != "PLAINTEXT" {
			return nil, nil, b.invalid("listeners", fmt.Sprintf("listener %s has the security protocol %s; this version serves PLAINTEXT only", e.name, l.Protocol))
		}
		warnings = append(warnings, l.advertise(advertised)...)
		found = append(found, l)
	}
	if len(found) == 0 {
		return nil, nil, b.invalid("listeners", "there is no listener for clients")
	}
	for _, a := range advertised {
		if !isController(a.name) && !slices.ContainsFunc(bound, func(e endpoint) bool { return e.name == a.name }) {
			return nil, nil, b.invalid("advertised.listeners", "there is no listener "+a.name)
		}
	}
	return found, warnings, nil
}

// endpoints parses a list of endpoints, in which no name and no address may come twice.
func (b *Broker) endpoints(config string) ([]endpoint, error) {
	var out []endpoint
	for _, s := range b.list(config) {
		e, err := parseEndpoint(s)
		if err != nil {
			return nil, b.invalid(config, err.Error())
		}
		for _, o := range out {
			if o.name == e.name {
				return nil, b.invalid(config, "Each listener must have a different name")
			}
			if config == "listeners" && o.port == e.port && o.host == e.host && e.port != 0 {
				return nil, b.invalid(config, "Each listener must have a different address")
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// advertise fills in the address that clients are told, and says what is doubtful about it.
func (l *Listener) advertise(advertised []endpoint) (warnings []string) {
	l.AdvertisedHost, l.AdvertisedPort = l.Host, l.Port
	i := slices.IndexFunc(advertised, func(e endpoint) bool { return e.name == l.Name })
	if i >= 0 {
		l.AdvertisedHost, l.AdvertisedPort = advertised[i].host, advertised[i].port
	}
	if l.AdvertisedHost == "" || i < 0 && isUnspecified(l.AdvertisedHost) {
		name, err := os.Hostname()
		if err != nil {
			name = "localhost"
		}
		l.AdvertisedHost = name
	}
	if l.Loopback() {
		return nil
	}
	if l.Protocol == "PLAINTEXT" {
		warnings = append(warnings, fmt.Sprintf("listener %s (%s) is reachable from other machines WITHOUT AUTHENTICATION OR "+
			"ENCRYPTION: anyone who reaches it may read, write and delete everything", l.Name, l.Address()))
	}
	switch {
	case isUnspecified(l.AdvertisedHost):
		warnings = append(warnings, fmt.Sprintf("listener %s advertises %s, which no client on another machine can connect to: "+
			"set advertised.listeners", l.Name, l.AdvertisedHost))
	case isLoopback(l.AdvertisedHost):
		warnings = append(warnings, fmt.Sprintf("listener %s (%s) advertises %s, so that clients on other machines connect to "+
			"themselves: set advertised.listeners", l.Name, l.Address(), l.AdvertisedHost))
	}
	return warnings
}

func parseProtocolMap(s string) (map[string]string, error) {
	m := map[string]string{}
	for _, item := range splitList(s) {
		name, protocol, ok := strings.Cut(item, ":")
		name, protocol = strings.ToUpper(strings.TrimSpace(name)), strings.ToUpper(strings.TrimSpace(protocol))
		if !ok || name == "" {
			return nil, &InvalidError{"listener.security.protocol.map", s, "must be a list of NAME:PROTOCOL"}
		}
		if !slices.Contains([]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, protocol) {
			return nil, &InvalidError{"listener.security.protocol.map", s, "No security protocol " + protocol}
		}
		m[name] = protocol
	}
	return m, nil
}
