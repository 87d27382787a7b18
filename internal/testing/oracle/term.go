// The terms of the Model and their order. They follow the contract of the store but share no code
// with it, because the model must not repeat a mistake of the store. If the applications of package
// dataset do not use a datatype, it is an error.

package oracle

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// xsd is the prefix of the IRIs of XML Schema's datatypes.
const xsd = "http://www.w3.org/2001/XMLSchema#"

// A class is the first criterion of the order of terms.
type class uint8

const (
	absentClass class = iota // the graph name of the default graph
	blankClass
	iriClass
	numberClass
	booleanClass
	dateTimeClass
	dateClass
	stringClass
	langClass
)

// A term is a parsed term. text is an IRI, a label or the lexical form, without
// escapes.
type term struct {
	class    class
	text     string
	datatype string
	tag      string
	number   *big.Rat  // of numbers
	instant  time.Time // of dates; without a zone they are in UTC
}

// compareValue orders two terms of the same class by value.
func compareValue(a, b *term) int {
	switch a.class {
	case numberClass:
		return a.number.Cmp(b.number)
	case dateTimeClass, dateClass:
		return a.instant.Compare(b.instant)
	}
	return cmp.Compare(a.text, b.text)
}

// compare is the order of the ordered space: by class, by value, and then by the rest, because
// different terms may have one value.
func compare(a, b *term) int {
	if a == b {
		return 0
	}
	if a.class != b.class {
		return cmp.Compare(a.class, b.class)
	}
	return cmp.Or(
		compareValue(a, b),
		cmp.Compare(a.datatype, b.datatype),
		cmp.Compare(a.tag, b.tag),
		cmp.Compare(a.text, b.text),
	)
}

// parseTerm parses a term in N-Triples syntax.
func parseTerm(s string) (*term, error) {
	// 1. Terms other than literals.
	switch {
	case strings.HasPrefix(s, "_:"):
		return &term{class: blankClass, text: s[2:]}, nil
	case len(s) > 2 && s[0] == '<' && s[len(s)-1] == '>':
		text, err := unescape(s[1 : len(s)-1])
		return &term{class: iriClass, text: text}, err
	case s == "" || s[0] != '"':
		return nil, fmt.Errorf("oracle: %q is no term", s)
	}
	// 2. The text of a literal.
	end := closingQuote(s)
	if end < 0 {
		return nil, fmt.Errorf("oracle: the literal %s has no closing quotation mark", s)
	}
	text, err := unescape(s[1:end])
	if err != nil {
		return nil, err
	}
	// 3. Its language or datatype.
	t := &term{class: stringClass, text: text}
	rest := s[end+1:]
	switch {
	case rest == "":
		return t, nil
	case rest[0] == '@':
		// Tags are equal in any case.
		t.class, t.tag = langClass, strings.ToLower(rest[1:])
		return t, nil
	case strings.HasPrefix(rest, "^^<"+xsd) && rest[len(rest)-1] == '>':
		t.datatype = rest[len("^^<"+xsd) : len(rest)-1]
		return t, t.typed()
	}
	return nil, fmt.Errorf("oracle: the model does not know the datatype of %s", s)
}

// typed sets the class and the value of a literal of an XSD datatype.
func (t *term) typed() (err error) {
	ok := true
	switch t.datatype {
	case "integer", "decimal":
		t.class = numberClass
		if t.number, ok = new(big.Rat).SetString(t.text); strings.ContainsAny(t.text, "eE/_") {
			ok = false
		}
	case "boolean":
		t.class = booleanClass
		ok = t.text == "true" || t.text == "false"
	case "date":
		t.class = dateClass
		t.instant, err = parseTime(t.text, "2006-01-02Z07:00", "2006-01-02")
	case "dateTime":
		t.class = dateTimeClass
		t.instant, err = parseTime(t.text, "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05")
	default:
		return fmt.Errorf("oracle: the model does not know the datatype xsd:%s", t.datatype)
	}
	if !ok || err != nil {
		return fmt.Errorf("oracle: the model does not know the xsd:%s %q", t.datatype, t.text)
	}
	return nil
}

func parseTime(s string, layouts ...string) (t time.Time, err error) {
	for _, layout := range layouts {
		if t, err = time.Parse(layout, s); err == nil {
			break
		}
	}
	return t, err
}

// closingQuote returns the index of the closing quotation mark of the literal at the begin of s, or
// -1.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unescape replaces the escapes of N-Triples.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for s != "" {
		if s[0] != '\\' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		quote := byte('"')
		if strings.HasPrefix(s, `\'`) {
			quote = '\''
		}
		r, _, tail, err := strconv.UnquoteChar(s, quote)
		if err != nil {
			return "", fmt.Errorf("oracle: bad escape at %q", s)
		}
		b.WriteRune(r)
		s = tail
	}
	return b.String(), nil
}
