package coordinator

import "testing"

// Values of java.lang.String.hashCode, and where Kafka 4.4 keeps these groups.
func TestKeysAreHashedAsJavaDoes(t *testing.T) {
	for s, want := range map[string]int32{
		"":                   0,
		"a":                  97,
		"hello":              99162322,
		"Hello, World!":      1498789909,
		"ä":                  228,
		"😀":                  1772899,
		"polygenelubricants": -2147483648,
	} {
		if got := hashCode(s); got != want {
			t.Errorf("hashCode(%q) = %d, want %d", s, got, want)
		}
	}
	for group, want := range map[string]int32{"s1": 14, "": 0, "j1": 35, "c8": 25, "v3": 9, "c1": 18, "polygenelubricants": 0} {
		if got := PartitionFor(group, 50); got != want {
			t.Errorf("group %q is in partition %d, want %d", group, got, want)
		}
	}
}
