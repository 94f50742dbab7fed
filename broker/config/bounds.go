package config

import (
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strings"
)

// bound says why the parsed value of o is not allowed; nil: it is allowed.
type bound func(o *Option, v any) error

// refuse is the InvalidError for a parsed value, printed as Kafka prints it.
func refuse(o *Option, v any, reason string) error {
	text := format(v)
	if items, ok := v.([]string); ok {
		text = "[" + strings.Join(items, ", ") + "]"
	}
	return &InvalidError{o.Name, text, reason}
}

// atLeast and between hold numbers; both ends are allowed.
func atLeast(low int64) bound { return between(low, math.MaxInt64) }

func between(low, high int64) bound {
	return func(o *Option, v any) error {
		switch n := v.(int64); {
		case n < low:
			return refuse(o, v, fmt.Sprintf("Value must be at least %d", low))
		case n > high:
			return refuse(o, v, fmt.Sprintf("Value must be no more than %d", high))
		}
		return nil
	}
}

// ratio is a DOUBLE from 0 to 1.
func ratio(o *Option, v any) error {
	switch f := v.(float64); {
	case f < 0:
		return refuse(o, v, "Value must be at least 0")
	case f > 1:
		return refuse(o, v, "Value must be no more than 1")
	}
	return nil
}

// minusOneOr allows -1 beside low to high.
func minusOneOr(low, high int64) bound {
	return func(o *Option, v any) error {
		if n := v.(int64); n != -1 && (n < low || n > high) {
			return refuse(o, v, fmt.Sprintf("Value must be between %d and %d or equal to -1", low, high))
		}
		return nil
	}
}

// unlimitedOrPositive is a retention: everything but 0, which would delete records as they come. All negative
// numbers mean no limit.
func unlimitedOrPositive(o *Option, v any) error {
	if v.(int64) == 0 {
		return refuse(o, v, "must be unlimited (-1) or, greater than or equal to 1")
	}
	return nil
}

// oneOf is a STRING out of a fixed set.
func oneOf(allowed ...string) bound {
	return func(o *Option, v any) error {
		if !slices.Contains(allowed, v.(string)) {
			return refuse(o, v, "String must be one of: "+strings.Join(allowed, ", "))
		}
		return nil
	}
}

// listOf is a LIST whose items come from a fixed set.
func listOf(allowed ...string) bound {
	return func(o *Option, v any) error {
		for _, item := range v.([]string) {
			if item == "" {
				return Refusal("Configuration '" + o.Name + "' values must not be empty.")
			}
			if !slices.Contains(allowed, item) {
				return refuse(o, item, "String must be one of: "+strings.Join(allowed, ", "))
			}
		}
		return nil
	}
}

// notEmpty is a LIST of at least one item.
func notEmpty(o *Option, v any) error {
	if len(v.([]string)) == 0 {
		return Refusal("Configuration '" + o.Name + "' must not be empty. Valid values include: any non-empty value")
	}
	return nil
}

var throttledReplica = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// throttledReplicas is "*" or a list of partition:broker.
func throttledReplicas(o *Option, v any) error {
	items := v.([]string)
	if len(items) == 1 && items[0] == "*" {
		return nil
	}
	for _, item := range items {
		if !throttledReplica.MatchString(item) {
			return refuse(o, v, o.Name+" must be the literal '*' or a list of replicas in the following format: "+
				"[partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
	}
	return nil
}

// notTiered refuses tiered storage, which this broker does not have.
func notTiered(_ *Option, v any) error {
	if v.(bool) {
		return Refusal("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// hostPortOrEmpty is HOST:PORT, or empty for off.
func hostPortOrEmpty(o *Option, v any) error {
	if v.(string) == "" {
		return nil
	}
	if _, _, err := splitHostPort(v.(string)); err != nil {
		return refuse(o, v, err.Error())
	}
	return nil
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
