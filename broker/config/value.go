package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// InvalidError says which config has a bad value and what is allowed. Its text is Kafka's, so that an admin tool
// shows what its user is used to.
type InvalidError struct {
	Name   string
	Value  string
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("Invalid value %s for configuration %s", e.Value, e.Name)
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Reason)
}

// Refusal is the text of a refused configuration that is not about one value.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Parse turns the text of a value into a bool, int64, float64, string or []string by the row's type, and holds it
// against the row's bounds. The error is an *InvalidError or a Refusal; the value of a password is not in it.
func (o *Option) Parse(text string) (any, error) {
	v, reason := o.parseType(strings.TrimSpace(text))
	if reason != "" {
		return nil, &InvalidError{o.Name, strings.TrimSpace(text), reason}
	}
	if o.Bounds != nil {
		if err := o.Bounds(o, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (o *Option) parseType(s string) (v any, reason string) {
	switch o.Type {
	case Boolean:
		switch {
		case strings.EqualFold(s, "true"):
			return true, ""
		case strings.EqualFold(s, "false"):
			return false, ""
		}
		return nil, "Expected value to be either true or false"
	case Int:
		return parseInt(s, 32, "INT")
	case Short:
		return parseInt(s, 16, "SHORT")
	case Long:
		return parseInt(s, 64, "LONG")
	case Double:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) {
			return nil, "Not a number of type DOUBLE"
		}
		return f, ""
	case List:
		return splitList(s), ""
	default:
		return s, ""
	}
}

func parseInt(s string, bits int, name string) (any, string) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return nil, "Not a number of type " + name
	}
	return n, ""
}

// splitList splits at commas; blanks around the items are dropped, an empty text is an empty list.
func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return []string{}
	}
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// format prints a parsed value as Kafka does in DescribeConfigs.
func format(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatDouble(v)
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// formatDouble is Java's Double.toString: always a fraction digit, and an exponent outside 10^-3 to 10^7.
func formatDouble(f float64) string {
	if a := math.Abs(f); f == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	if math.IsInf(f, 0) {
		return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), "+Inf", "Infinity", 1)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}
