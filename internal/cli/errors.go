// Errors of commands: mistakes in the arguments, hints, and outcomes that were reported before.

package cli

import (
	"errors"
	"fmt"
)

// usageError is a mistake in the arguments that the grammar does not detect.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// usage returns an error as a mistake in the arguments.
func usage(err error) error { return usageError{err} }

// hinted is an error with a hint in terms of the command line.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// withHint adds a hint to an error, in terms of the command line.
func withHint(err error, hint string) error { return hinted{err, hint} }

// hintOf returns the hint of an error; "" if it has none.
func hintOf(err error) string {
	var h hinted
	errors.As(err, &h)
	return h.hint
}

// errRejected ends a command that did its work but left statements out. The command must have
// reported it.
var errRejected = errors.New("statements were rejected")

// errReported ends a command that failed. It must have reported the reason.
var errReported = errors.New("failed")

// placedError is a message that begins with its place, like that of a SyntaxError.
type placedError string

func (p placedError) Error() string { return string(p) }
