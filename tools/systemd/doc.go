// Package systemd holds the unit of the service and an example of its configuration; its test lets systemd and the
// broker's own parser read them.
package systemd
