package batch

import "strconv"

// The names of Kafka's configuration, by codec.
var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

func (c Codec) String() string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return "codec " + strconv.Itoa(int(c))
}

// ParseCodec is the codec of a name in compression.type, where None is called
// "uncompressed", or in a client's configuration, where it is called "none".
func ParseCodec(name string) (Codec, bool) {
	if name == "uncompressed" {
		return None, true
	}
	for c, n := range codecNames {
		if n == name {
			return Codec(c), true
		}
	}
	return None, false
}
