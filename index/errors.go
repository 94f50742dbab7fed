package index

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt means that the file is not a valid index and must be rebuilt
	// from the log. It comes wrapped with the file and the reason.
	ErrCorrupt = errors.New("corrupt index")
	// ErrFull means that the index cannot take this entry: roll the segment.
	ErrFull = errors.New("index full")
	// ErrClosed means that the index was closed.
	ErrClosed = errors.New("index closed")
	// ErrReadOnly means that the index is sealed.
	ErrReadOnly = errors.New("index sealed")
	// errFault means that touching a mapped page raised SIGBUS or SIGSEGV.
	errFault = errors.New("fault in mapped page")
)

func corrupt(path string, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrCorrupt, path, fmt.Sprintf(format, args...))
}
