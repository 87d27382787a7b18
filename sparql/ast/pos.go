package ast

import "fmt"

// Pos is a place in the text of a query. The zero Pos is no place: that of a
// node which a program made.
type Pos struct {
	Offset int32 // bytes before it
	Line   int32 // from 1; lines end at LF, CR LF or a bare CR
	Column int32 // from 1, in code points
}

// Position returns p. Nodes that embed a Pos have their place so.
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
