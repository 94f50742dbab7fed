package coordinator

import "unicode/utf16"

// PartitionFor is the partition of an internal topic with n partitions that key
// belongs to: Kafka's Utils.abs(key.hashCode()) % n, so that a data directory
// means the same to both. n must be positive.
func PartitionFor(key string, n int32) int32 {
	return (hashCode(key) & 0x7fffffff) % n
}

// hashCode is java.lang.String.hashCode: over UTF-16 code units, wrapping.
func hashCode(s string) int32 {
	var h int32
	for _, r := range s {
		if r <= 0xffff {
			h = 31*h + r
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		h = 31*(31*h+hi) + lo
	}
	return h
}
