package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
)

// bound says why a parsed value is not allowed; empty: it is allowed.
type bound func(v any) string

// atLeast, between: numbers, both ends included.
func atLeast(low int64) bound {
	return func(v any) string {
		if v.(int64) < low {
			return fmt.Sprintf("Value must be at least %d", low)
		}
		return ""
	}
}

func between(low, high int64) bound {
	return func(v any) string {
		switch n := v.(int64); {
		case n < low:
			return fmt.Sprintf("Value must be at least %d", low)
		case n > high:
			return fmt.Sprintf("Value must be no more than %d", high)
		}
		return ""
	}
}

// ratio is a DOUBLE from 0 to 1.
func ratio(v any) string {
	switch f := v.(float64); {
	case f < 0:
		return "Value must be at least 0"
	case f > 1:
		return "Value must be no more than 1"
	}
	return ""
}

// minusOneOr allows -1 beside low to high.
func minusOneOr(low, high int64) bound {
	return func(v any) string {
		if n := v.(int64); n != -1 && (n < low || n > high) {
			return fmt.Sprintf("Value must be between %d and %d or equal to -1", low, high)
		}
		return ""
	}
}

// unlimitedOrAtLeast1 allows -1 (no limit) and everything from 1 on.
func unlimitedOrAtLeast1(v any) string {
	if n := v.(int64); n == 0 || n < -1 {
		return "Value must be unlimited (-1) or at least 1"
	}
	return ""
}

// oneOf: a STRING out of a fixed set.
func oneOf(allowed ...string) bound {
	return func(v any) string {
		if !slices.Contains(allowed, v.(string)) {
			return "String must be one of: " + strings.Join(allowed, ", ")
		}
		return ""
	}
}

// listOf: a LIST whose items come from a fixed set, each at most once.
func listOf(allowed ...string) bound {
	return func(v any) string {
		seen := map[string]bool{}
		for _, item := range v.([]string) {
			if !slices.Contains(allowed, item) {
				return "String must be one of: " + strings.Join(allowed, ", ")
			}
			if seen[item] {
				return "Configuration has duplicate values: " + item
			}
			seen[item] = true
		}
		return ""
	}
}

func notEmpty(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "String must be non-empty"
		}
	case []string:
		if len(v) == 0 {
			return "Configuration must not be empty"
		}
	}
	return ""
}

var throttledReplica = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// throttledReplicas: "*" or a list of partition:broker.
func throttledReplicas(v any) string {
	items := v.([]string)
	if len(items) == 1 && items[0] == "*" {
		return ""
	}
	for _, item := range items {
		if !throttledReplica.MatchString(item) {
			return "must be the literal '*' or a list of replicas in the following format: " +
				"[partitionId]:[brokerId],[partitionId]:[brokerId],..."
		}
	}
	return ""
}

// hostPortOrEmpty: HOST:PORT, or empty for off.
func hostPortOrEmpty(v any) string {
	s := v.(string)
	if s == "" {
		return ""
	}
	if _, _, err := splitHostPort(s); err != nil {
		return err.Error()
	}
	return ""
}

// splitHostPort is net.SplitHostPort with a checked numeric port.
func splitHostPort(s string) (host string, port int32, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("must be HOST:PORT, with an IPv6 address in brackets: %q", s)
	}
	n, reason := parseInt(text, 32, "INT")
	if reason != "" || n.(int64) < 0 || n.(int64) > 65535 {
		return "", 0, fmt.Errorf("port must be a number from 0 to 65535: %q", s)
	}
	return host, int32(n.(int64)), nil
}
