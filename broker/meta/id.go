package meta

import (
	"crypto/rand"
	"encoding/base64"
)

// ID is a topic id (UUID). The zero ID means none.
type ID [16]byte

// MetadataTopicID is the fixed id of the metadata log, as in Kafka.
var MetadataTopicID = ID{15: 1}

// NewID makes a random (version 4) id. It is never zero and never one of the ids
// Kafka reserves, which are all below 2^64; and its text never begins with '-', which
// command lines take for an option.
func NewID() ID {
	for {
		var id ID
		rand.Read(id[:]) // never fails: crypto/rand ends the process rather than return an error
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id[0]>>2 != 62 { // '-' in the URL alphabet
			return id
		}
	}
}

// IsZero tells whether id is the id that means none.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads an id as String prints it.
func ParseID(text string) (id ID, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return ID{}, false
	}
	return ID(raw), true
}

// String is the id as Kafka prints it: base64 with the URL alphabet, unpadded.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }
