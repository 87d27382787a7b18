// Errors of commands: mistakes in the arguments, hints, and outcomes that were reported before.

package console

import (
	"errors"
	"fmt"
)

// UsageError is a mistake in the arguments that the grammar does not detect.
type UsageError struct{ error }

// Usagef returns a mistake in the arguments.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Usage returns an error as a mistake in the arguments.
func Usage(err error) error { return UsageError{err} }

// hinted is an error with a hint in terms of the command line.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// WithHint adds a hint to an error, in terms of the command line.
func WithHint(err error, hint string) error { return hinted{err, hint} }

// HintOf returns the hint of an error; "" if it has none.
func HintOf(err error) string {
	var h hinted
	errors.As(err, &h)
	return h.hint
}

// ErrRejected ends a command that did its work but left statements out. The command must have
// reported it.
var ErrRejected = errors.New("statements were rejected")

// ErrReported ends a command that failed. It must have reported the reason.
var ErrReported = errors.New("failed")

// PlacedError is a message that begins with its place, like that of a SyntaxError.
type PlacedError string

func (p PlacedError) Error() string { return string(p) }
