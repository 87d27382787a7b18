// Syntax errors with places.

package triple

import "fmt"

// SyntaxError is an error in a document with its place.
type SyntaxError struct {
	Source string // the document's name; "" if it has none
	Line   int    // from 1; lines end at LF, CR LF or a bare CR
	Column int    // from 1, in code points (bytes if the text is not UTF-8)
	Offset int64  // bytes before the place, from the document's start
	Msg    string // the reason and, if known, the expected text
}

// Error returns "source:line:column: message".
func (e *SyntaxError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Line, e.Column, e.Msg)
}
