// The kinds of lexical units.

package parser

import (
	"fmt"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// kind is the kind of a token.
type kind uint8

const (
	tokEnd     kind = iota // of the text, or at an error
	tokWord                // a keyword, "a", true or false
	tokVar                 // ?x or $x; value is the name
	tokIRI                 // <...>; value is the inside
	tokName                // a prefixed name; value is all of it, colon its place
	tokBlank               // _:label; value is the label
	tokString              // of all four quotes; value is decoded
	tokLang                // @tag; value is the tag
	tokInteger             // numbers; value is the lexical form with its sign
	tokDecimal
	tokDouble
	tokPunct // a mark; value is the mark
)

// token is a lexical unit. Its strings are views of the text if they can be.
type token struct {
	kind    kind
	escaped bool // tokName: the local part has escapes
	long    bool // tokString: it has three quotes
	colon   int  // tokName: the index of the colon in value
	value   string
	// word is the keyword in upper case; "" if it is none, "a" for a.
	word string
	pos  ast.Pos
}

// is reports whether t is the mark m.
func (t *token) is(m string) bool { return t.kind == tokPunct && t.value == m }

// String names the token for a message.
func (t *token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end of the text"
	case tokVar:
		return "?" + clip(t.value)
	case tokIRI:
		return "<" + clip(t.value) + ">"
	case tokBlank:
		return "_:" + clip(t.value)
	case tokString:
		return fmt.Sprintf("the string %q", clip(t.value))
	case tokLang:
		return "@" + clip(t.value)
	case tokPunct:
		return "'" + t.value + "'"
	}
	return clip(t.value)
}

// clip shortens a string for a message.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
