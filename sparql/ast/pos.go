// Places in the text.

package ast

import "fmt"

// Pos is a place in the text of a query. The zero Pos is no place: a node has it if a program
// made the node.
type Pos struct {
	Offset int32 // bytes before it
	Line   int32 // from 1; lines end at LF, CR LF or a bare CR
	Column int32 // from 1, in code points
}

// Position returns p. Nodes embed a Pos to have this method.
func (p Pos) Position() Pos { return p }

// IsZero reports whether p is no place.
func (p Pos) IsZero() bool { return p.Line == 0 }

// String returns "line:column", "-" for no place.
func (p Pos) String() string {
	if p.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}
