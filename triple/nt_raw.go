package triple

import "bytes"

// RawTerm returns, without checking the token, the bytes that its term has in a
// key: the tag and the body. ok is false where they do not stand in the token as
// they are: blank nodes, literals with escapes, language tag or datatype. A
// loader looks them up among the terms that it knows; a token that is not
// well-formed is never found there, and one that is new goes through
// [Block.Decode].
func RawTerm(token []byte) (tag byte, body []byte, ok bool) {
	switch last := len(token) - 1; {
	case token[0] == '<':
		return tagIRI, token[1:last], true
	case token[0] == '"' && token[last] == '"':
		body = token[1:last]
		if bytes.IndexByte(body, '\\') < 0 && bytes.IndexByte(body, 0) < 0 {
			return tagString, body, true
		}
	}
	return 0, nil, false
}

// RawBlank returns the label of a blank node's token, ok false for other tokens.
func RawBlank(token []byte) (label []byte, ok bool) {
	if token[0] == '_' {
		return token[2:], true
	}
	return nil, false
}

// BlankTag is the tag of blank nodes in keys.
const BlankTag byte = tagBlank
