// Bytes of terms in keys, directly from tokens without a check.

package triple

import "bytes"

// RawTerm returns the bytes of a token's term in a key, the tag and the body, without a check of
// the token. ok is false if the token does not contain them unchanged: blank nodes, triple terms,
// and literals with escapes, language tag or datatype. A loader looks up the bytes among its terms. If a token
// is malformed, it is never found there; if it is new, it must go through [Block.Decode].
func RawTerm(token []byte) (tag byte, body []byte, ok bool) {
	switch last := len(token) - 1; {
	case isTripleToken(token):
		return 0, nil, false
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

// RawBlank returns the label of a blank node's token; ok is false for other tokens.
func RawBlank(token []byte) (label []byte, ok bool) {
	if token[0] == '_' {
		return token[2:], true
	}
	return nil, false
}

// BlankTag is the tag of blank nodes in keys.
const BlankTag byte = tagBlank
