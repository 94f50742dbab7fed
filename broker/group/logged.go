package group

// maxLogged bounds a client's string in the log, bytes. Quoting is the handler's.
const maxLogged = 256

// logged is a client's string, cut short for the log.
func logged(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged]
	}
	return s
}
