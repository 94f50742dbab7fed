package meta

// DecodeRecord parses one record value of the metadata log, for tools that print it.
func DecodeRecord(value []byte) (Change, error) { return decodeRecord(value) }
