package meta

import (
	"fmt"
	"strings"
)

// maxTopicName is the longest name, in bytes: a directory name of 255 less the
// partition number and the suffix of a deletion.
const maxTopicName = 249

// ValidateTopicName tells what is wrong with a topic name, in Kafka's words; nil if
// it is legal.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("Topic name is invalid: the empty string is not allowed")
	case name == ".":
		return fmt.Errorf("Topic name is invalid: '.' is not allowed")
	case name == "..":
		return fmt.Errorf("Topic name is invalid: '..' is not allowed")
	case len(name) > maxTopicName:
		return fmt.Errorf("Topic name is invalid: the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	}
	for i := range len(name) {
		if !isTopicChar(name[i]) {
			return fmt.Errorf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

func isTopicChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

func hasCollisionChars(name string) bool { return strings.ContainsAny(name, "._") }

func unifyCollisionChars(name string) string { return strings.ReplaceAll(name, ".", "_") }
