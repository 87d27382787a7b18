// Classes of bytes in N-Triples, and the check of IRIs.

package triple

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Classes of ASCII bytes in N-Triples, as bits of asciiClass.
const (
	classIRI      = 1 << iota // allowed in an IRI between < and >
	classLabel                // allowed inside a blank node label (PN_CHARS), without '.'
	classLabel1               // allowed at the start of a blank node label (PN_CHARS_U or a digit)
	classLetter               // A-Z a-z
	classScheme               // allowed in a scheme after its first letter
	classTagAlnum             // allowed in a subtag of a language tag
)

// IsIRIByte reports whether a byte may be in an IRI between < and > (IRIREF of N-Triples, Turtle and SPARQL):
// not controls, spaces and <>"{}|^`\. DEL may, by the grammar (RDF 1.1 N-Triples, section 7). Bytes above ASCII
// may, if they are UTF-8. It is for tables that parsers make at their start.
func IsIRIByte(c byte) bool {
	switch c {
	case '<', '>', '"', '{', '}', '|', '^', '`', '\\':
		return false
	}
	return c > ' '
}

var asciiClass = func() (table [128]uint8) {
	for c := range table {
		b := byte(c)
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		digit := b >= '0' && b <= '9'
		if IsIRIByte(b) {
			table[c] |= classIRI
		}
		if letter {
			table[c] |= classLetter
		}
		if letter || digit {
			table[c] |= classScheme | classTagAlnum | classLabel | classLabel1
		}
		switch b {
		case '+', '-', '.':
			table[c] |= classScheme
		}
		switch b {
		case '_': // N-Triples' grammar has ':' here too; its test suite and Turtle forbid it
			table[c] |= classLabel | classLabel1
		case '-':
			table[c] |= classLabel
		}
	}
	return table
}()

// Errors of [CheckIRI], without the IRI itself.
var (
	errRelativeIRI = errors.New("relative IRI (no scheme)")
	errEmptyIRI    = errors.New("empty IRI")
)

// CheckIRI returns nil if iri is an absolute IRI of N-Triples. It must have a scheme, a colon, and
// only characters of IRIREF, in valid UTF-8. (RDF 1.1 N-Triples, section 7; the scheme by RFC
// 3987.)
func CheckIRI(iri string) error {
	if err := checkScheme(iri); err != nil {
		return err
	}
	for i := 0; i < len(iri); {
		if c := iri[i]; c < utf8.RuneSelf {
			if asciiClass[c]&classIRI == 0 {
				return fmt.Errorf("character %q is not allowed in an IRI: <%s>", rune(c), clip(iri))
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(iri[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("IRI is not valid UTF-8 (byte 0x%02X)", iri[i])
		}
		i += size
	}
	return nil
}

// checkScheme returns nil if iri begins with a scheme and a colon.
func checkScheme(iri string) error {
	if iri == "" {
		return errEmptyIRI
	}
	if asciiAt(iri, 0)&classLetter != 0 {
		for i := 1; i < len(iri); i++ {
			if iri[i] == ':' {
				return nil
			}
			if asciiAt(iri, i)&classScheme == 0 {
				break
			}
		}
	}
	return fmt.Errorf("%w: <%s>", errRelativeIRI, clip(iri))
}

func asciiAt(s string, i int) uint8 {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c]
	}
	return 0
}

// scanBlankLabel returns the length of the longest blank node label (N-Triples' BLANK_NODE_LABEL
// without "_:") at the start of s; 0 if there is none. A label must neither start nor end with '.'.
func scanBlankLabel(s string) int {
	// end is the end of the last character that is not a dot, because a label must not end with
	// one.
	end := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			class := asciiClass[c]
			switch {
			case i == 0 && class&classLabel1 == 0:
				return 0
			case class&classLabel != 0:
				i++
				end = i
			case c == '.':
				i++
			default:
				return end
			}
			continue
		}
		// Above ASCII a label has the characters of names.
		r, size := utf8.DecodeRuneInString(s[i:])
		if size == 1 || !IsNameStart(r) && (i == 0 || !IsNamePart(r)) {
			return end
		}
		i += size
		end = i
	}
	return end
}

// IsNameStart reports whether a rune above ASCII may start a name: PN_CHARS_BASE of Turtle,
// N-Triples and SPARQL, NameStartChar of XML 1.0 (fifth edition).
func IsNameStart(r rune) bool {
	switch {
	case r < 0xC0:
		return false
	case r <= 0x2FF:
		return r != 0xD7 && r != 0xF7
	case r < 0x370:
		return false
	case r <= 0x1FFF:
		return r != 0x37E
	case r <= 0x200D:
		return r >= 0x200C
	case r <= 0x218F:
		return r >= 0x2070
	case r <= 0x2FEF:
		return r >= 0x2C00
	case r <= 0xD7FF:
		return r >= 0x3001
	case r <= 0xFDCF:
		return r >= 0xF900
	case r <= 0xFFFD:
		return r >= 0xFDF0
	}
	return r >= 0x10000 && r <= 0xEFFFF
}

// IsNamePart reports whether a rune above ASCII may be in a name: PN_CHARS, and NameChar of XML.
func IsNamePart(r rune) bool {
	return IsNameStart(r) || r == 0xB7 || r >= 0x300 && r <= 0x36F || r == 0x203F || r == 0x2040
}

// scanLangTag returns the length of the longest language tag (LANG_DIR without "@") at the start of
// s: [a-zA-Z]+ ('-' [a-zA-Z0-9]+)* ('--' [a-zA-Z]+)?.
func scanLangTag(s string) int {
	// 1. The language.
	i := 0
	for i < len(s) && asciiAt(s, i)&classLetter != 0 {
		i++
	}
	if i == 0 {
		return 0
	}
	// 2. Its subtags. A second '-' begins no subtag.
	for i < len(s) && s[i] == '-' {
		j := i + 1
		for j < len(s) && asciiAt(s, j)&classTagAlnum != 0 {
			j++
		}
		if j == i+1 {
			break
		}
		i = j
	}
	// 3. The base direction.
	if strings.HasPrefix(s[i:], directionMark) {
		j := i + len(directionMark)
		for j < len(s) && asciiAt(s, j)&classLetter != 0 {
			j++
		}
		if j > i+len(directionMark) {
			return j
		}
	}
	return i
}
