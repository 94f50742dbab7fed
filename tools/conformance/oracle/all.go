package oracle

import (
	"slices"
	"strings"
)

// All gives every probe, in the order of their names, so that two runs do the
// same things in the same order.
func All() []Probe {
	probes := slices.Concat(
		handshakeProbes(),
		versionProbes(),
		metadataProbes(),
		topicProbes(),
		configProbes(),
		produceProbes(),
		idempotenceProbes(),
		fetchProbes(),
		sessionProbes(),
		offsetProbes(),
		groupProbes(),
		commitProbes(),
		adminProbes(),
	)
	slices.SortFunc(probes, func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
	return probes
}
