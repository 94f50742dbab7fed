package segment

// Dir is the log dir that the log is in.
func (l *Log) Dir() *Dir { return l.dir }

// Err is why the log can no longer be written, nil if it can: its dir is offline.
func (l *Log) Err() error { return l.dir.offline() }
