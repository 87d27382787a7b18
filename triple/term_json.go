// Terms in JSON.

package triple

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseTermJSON parses a term in the form of [AppendJSON], or a JSON string with N-Triples text.
func ParseTermJSON(text []byte) (Term, error) {
	if len(text) == 0 || string(text) == "null" {
		return Term{}, fmt.Errorf("%w: the term is missing", ErrBadTerm)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	// 1. A string has the term's text.
	if text[0] == '"' {
		var s string
		if err := d.Decode(&s); err != nil {
			return Term{}, jsonError(err)
		}
		return ParseTerm(s)
	}
	if text[0] != '{' {
		return Term{}, fmt.Errorf("%w: the term is neither a JSON object nor a string", ErrBadTerm)
	}
	// 2. An object has its parts.
	r := termReader{d: d}
	t, err := r.read(0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Term{}, jsonError(err)
	}
	t = r.wrap(t)
	return t, t.Check()
}

// termReader reads a term's object token by token, in time linear in the text.
type termReader struct {
	d *json.Decoder
	// levels are the subjects and predicates of the triple terms around the last term of read, from
	// the inside out.
	levels []Triple
}

// wrap returns the triple term of the levels around t.
func (r *termReader) wrap(t Term) Term {
	if len(r.levels) == 0 {
		return t
	}
	var b TripleTermBuilder
	for _, level := range slices.Backward(r.levels) {
		b.Add(level.Subject, level.Predicate)
	}
	r.levels = nil
	return b.Term(t)
}

// read reads a term: an object with the members type and value, and those of a literal. Of a triple
// term it returns the innermost object, and appends to levels.
func (r *termReader) read(depth int) (Term, error) {
	if err := CheckNesting(depth); err != nil {
		return Term{}, err
	}
	if depth > maxJSONNesting {
		return Term{}, fmt.Errorf("%w: triple terms in JSON may be nested %d deep; a deeper one must be a string of N-Triples", ErrBadTerm, maxJSONNesting)
	}
	// 1. Read the members. The value of a triple term is an object.
	members := map[string]string{}
	var innermost Term
	triple := false
	err := r.members(func(name string) error {
		if _, again := members[name]; again {
			return fmt.Errorf("%w: %q occurs twice", ErrBadTerm, name)
		}
		switch name {
		case "type", "value", "xml:lang", "its:dir", "datatype":
		default:
			return fmt.Errorf("%w: unknown member %q", ErrBadTerm, clip(name))
		}
		token, err := r.d.Token()
		if err != nil {
			return err
		}
		if text, ok := token.(string); ok {
			members[name] = text
			return nil
		}
		if token != json.Delim('{') || name != "value" {
			return fmt.Errorf("%w: %s is no string", ErrBadTerm, name)
		}
		members[name], triple = "", true
		innermost, err = r.readTriple(depth)
		return err
	})
	if err != nil {
		return Term{}, err
	}
	// 2. The type must go with the members.
	if _, ok := members["value"]; !ok {
		return Term{}, fmt.Errorf("%w: it has no value", ErrBadTerm)
	}
	kind, value, lang, datatype := members["type"], members["value"], members["xml:lang"], members["datatype"]
	direction, directed := members["its:dir"]
	plain := lang == "" && datatype == "" && !directed
	switch {
	case triple && kind == "triple" && plain:
		return innermost, nil
	case triple || kind == "triple":
		return Term{}, fmt.Errorf("%w: type triple and a value with subject, predicate and object belong together", ErrBadTerm)
	case kind == "uri" && plain:
		return NewIRI(value), nil
	case kind == "bnode" && plain:
		return NewBlank(value), nil
	case kind != "literal" || lang != "" && datatype != "" || directed && lang == "":
		return Term{}, fmt.Errorf(`%w: type %q is not uri, bnode, literal or triple, or it has members that do not go with it`, ErrBadTerm, clip(kind))
	case strings.Contains(lang, directionMark):
		return Term{}, fmt.Errorf("%w: xml:lang %q has a base direction, which its:dir gives", ErrBadTerm, clip(lang))
	case directed:
		return NewLang(value, lang+directionMark+direction), nil
	case lang != "":
		return NewLang(value, lang), nil
	}
	return NewTyped(value, datatype), nil
}

// readTriple reads the value of a triple term after its brace.
func (r *termReader) readTriple(depth int) (innermost Term, err error) {
	var level Triple
	seen := map[string]bool{}
	err = r.rest(func(name string) error {
		if seen[name] {
			return fmt.Errorf("%w: %q occurs twice", ErrBadTerm, name)
		}
		seen[name] = true
		switch name {
		case "subject", "predicate":
			// A triple term here would add levels that belong to no object.
			inside := termReader{d: r.d}
			t, err := inside.read(depth + 1)
			if err == nil && len(inside.levels) > 0 {
				err = fmt.Errorf("%w: a triple term cannot be a %s", ErrBadTerm, name)
			}
			if name == "subject" {
				level.Subject = t
			} else {
				level.Predicate = t
			}
			return err
		case "object":
			innermost, err = r.read(depth + 1)
			return err
		}
		return fmt.Errorf("%w: unknown member %q of a triple term", ErrBadTerm, clip(name))
	})
	if err == nil && len(seen) < 3 {
		err = fmt.Errorf("%w: a triple term needs subject, predicate and object", ErrBadTerm)
	}
	r.levels = append(r.levels, level)
	return innermost, err
}

// members calls do with the name of each member of the next object; do must read the value.
func (r *termReader) members(do func(name string) error) error {
	token, err := r.d.Token()
	if err == nil && token != json.Delim('{') {
		err = fmt.Errorf("%w: expected an object with type and value, found %v", ErrBadTerm, token)
	}
	if err != nil {
		return err
	}
	return r.rest(do)
}

// rest is members behind the object's brace.
func (r *termReader) rest(do func(name string) error) error {
	for r.d.More() {
		token, err := r.d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a decoder returns only strings here
		if err := do(name); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// AppendJSON appends the term as an RDF term of SPARQL 1.2 Query Results JSON (section 3.2.2):
// {"type":"literal","value":"...","xml:lang":"ar","its:dir":"rtl"}. Plain strings have no datatype.
// The value of a triple term has the members subject, predicate and object.
func AppendJSON(dst []byte, t Term) []byte {
	switch t.kind {
	case TripleTerm:
		return appendTripleTermJSON(dst, t)
	case IRI:
		dst = append(dst, `{"type":"uri","value":`...)
	case Blank:
		dst = append(dst, `{"type":"bnode","value":`...)
	default:
		dst = append(dst, `{"type":"literal","value":`...)
	}
	dst = AppendJSONString(dst, t.value)
	switch {
	case t.lang != "":
		dst = AppendJSONString(append(dst, `,"xml:lang":`...), t.Lang())
		if direction := t.Direction(); direction != "" {
			dst = AppendJSONString(append(dst, `,"its:dir":`...), direction)
		}
	case t.datatype != "" && t.datatype != XSDString:
		dst = AppendJSONString(append(dst, `,"datatype":`...), t.datatype)
	}
	return append(dst, '}')
}

func appendTripleTermJSON(dst []byte, t Term) []byte {
	for depth := 1; ; depth++ {
		inner, ok := t.Triple()
		if !ok {
			return dst
		}
		dst = AppendJSON(append(dst, `{"type":"triple","value":{"subject":`...), inner.Subject)
		dst = AppendJSON(append(dst, `,"predicate":`...), inner.Predicate)
		dst = append(dst, `,"object":`...)
		if inner.Object.kind != TripleTerm {
			dst = AppendJSON(dst, inner.Object)
			for range depth {
				dst = append(dst, "}}"...)
			}
			return dst
		}
		t = inner.Object
	}
}

// AppendTripleJSON appends the triple as one JSON object with the members s, p, o and, in a named
// graph, g, each in the form of [AppendJSON]. A triple term of more than 1,000 levels is a JSON string
// of N-Triples; [ParseTermJSON] takes both.
func AppendTripleJSON(dst []byte, t Triple) []byte {
	dst = AppendJSON(append(dst, `{"s":`...), t.Subject)
	dst = AppendJSON(append(dst, `,"p":`...), t.Predicate)
	dst = append(dst, `,"o":`...)
	if t.Object.Levels(maxJSONNesting) > maxJSONNesting {
		dst = AppendJSONString(dst, t.Object.String())
	} else {
		dst = AppendJSON(dst, t.Object)
	}
	if !t.Graph.IsZero() {
		dst = AppendJSON(append(dst, `,"g":`...), t.Graph)
	}
	return append(dst, '}')
}

// maxJSONNesting is the greatest number of levels of a triple term that is an object of JSON, because
// readers recurse for each level. A level is two objects, and encoding/json reads 10,000.
const maxJSONNesting = 1000

const hexDigits = "0123456789ABCDEF"

// AppendJSONString appends s as a JSON string, in quotes. Bytes of invalid UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	// start is the first byte that is not yet in dst: plain bytes are appended in runs, because
	// that is faster.
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		i++
		// Only quotes, backslashes and control characters must be escaped.
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i-1]...)
		start = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
