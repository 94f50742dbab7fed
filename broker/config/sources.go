package config

import (
	"fmt"
	"strings"
)

// EnvironmentPrefix begins the names of environment variables that set a config.
const EnvironmentPrefix = "MILLRACE_"

// FromEnvironment returns the configs that environment variables of the form KEY=value set: after the prefix, the
// config's name in capitals with _ for each dot (MILLRACE_LOG_RETENTION_MS is log.retention.ms).
func FromEnvironment(environ []string) map[string]string {
	props := map[string]string{}
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if name, has := strings.CutPrefix(name, EnvironmentPrefix); ok && has && name != "" {
			props[strings.ToLower(strings.ReplaceAll(name, "_", "."))] = value
		}
	}
	return props
}

// ParseAssignments reads key=value arguments.
func ParseAssignments(args []string) (map[string]string, error) {
	props := map[string]string{}
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("%q: must be key=value", a)
		}
		props[key] = value
	}
	return props, nil
}

// Merge lays one set of properties over another: later layers win. A config that a later layer sets also hides its
// synonyms in earlier ones, so that MILLRACE_LOG_RETENTION_HOURS=1 is not overruled by log.retention.ms in a file.
func Merge(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		for name := range layer {
			for _, s := range family(name) {
				delete(out, s)
			}
		}
		for name, value := range layer {
			out[name] = value
		}
	}
	return out
}

// family lists the broker configs that mean the same thing as name in another unit or under another name.
func family(name string) []string {
	for _, names := range [][]string{{"log.dirs", "log.dir"}, {"node.id", "broker.id"}} {
		if names[0] == name || names[1] == name {
			return names
		}
	}
	for _, o := range topicRows {
		var names []string
		found := false
		for _, s := range o.Synonyms {
			names = append(names, s.Name)
			found = found || s.Name == name
		}
		if found {
			return names
		}
	}
	return nil
}
