package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"millrace/broker"
	"millrace/broker/config"
)

// durabilities says what each policy promises.
var durabilities = map[string]string{
	"flush":      "on disk before any acknowledgement",
	"replicated": "in memory of every in-sync replica before an acknowledgement; NOT on disk",
	"async":      "in memory of the leader before an acknowledgement; NOT on disk",
}

// printBanner says, for a person, where the node listens and how it works.
func printBanner(w io.Writer, cfg *config.Broker, r broker.Report) {
	line := func(name, value string) { fmt.Fprintf(w, "  %-11s %s\n", name, value) }
	fmt.Fprintf(w, "millrace %s, node %d, ready in %d ms\n", versionString(), cfg.NodeID, r.StartMs)
	for i, l := range r.Listeners {
		line([]string{"listening", ""}[min(i, 1)], l)
	}
	if r.HTTP == "" {
		line("http", "off")
	} else {
		line("http", r.HTTP+" (/metrics /healthz /readyz /debug/pprof/)")
	}
	dirs := make([]string, len(cfg.LogDirs))
	for i, d := range cfg.LogDirs {
		dirs[i] = d
		if abs, err := filepath.Abs(d); err == nil {
			dirs[i] = abs
		}
	}
	line("data", strings.Join(dirs, ", "))
	line("engine", r.Engine)
	line("writes", r.IO)
	line("durability", r.Durability+explain(r.Durability))
	limits := append(append([]string(nil), r.Limits...), wantingLimits(cfg.SlabBytes*int64(len(cfg.LogDirs)), readLimits())...)
	for i, l := range limits {
		line([]string{"limits", ""}[min(i, 1)], l)
	}
}

func explain(policy string) string {
	if s, ok := durabilities[policy]; ok {
		return ": " + s
	}
	return ""
}
