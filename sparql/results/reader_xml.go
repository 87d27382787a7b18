// The reader of XML.

package results

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// xmlDecoder reads the SPARQL Query Results XML Format. Elements and attributes
// of other namespaces are skipped, a document type declaration is an error: no
// entity is ever expanded but XML's own.
type xmlDecoder struct {
	in  *quota
	xml *xml.Decoder
}

// quota is a reader with a limit of bytes between two tokens, so none is greater.
type quota struct {
	in   *bufio.Reader
	left int
}

// maxXMLToken has room for a term of the greatest size with some escapes.
const maxXMLToken = triple.MaxTermBytes + triple.MaxTermBytes/2

var errQuota = fmt.Errorf("%w: more than %d bytes without a tag", ErrLimit, maxXMLToken)

func (q *quota) Read(b []byte) (int, error) {
	if q.left <= 0 {
		return 0, errQuota
	}
	n, err := q.in.Read(b[:min(len(b), q.left)])
	q.left -= n
	return n, err
}

// ReadByte keeps the decoder from a buffer of its own.
func (q *quota) ReadByte() (byte, error) {
	if q.left <= 0 {
		return 0, errQuota
	}
	q.left--
	return q.in.ReadByte()
}

func newXMLDecoder(in *bufio.Reader) *xmlDecoder {
	q := &quota{in: in}
	return &xmlDecoder{in: q, xml: xml.NewDecoder(q)}
}

// token returns the next start or end of an element, or text.
func (d *xmlDecoder) token() (xml.Token, error) {
	for {
		d.in.left = maxXMLToken
		t, err := d.xml.Token()
		if err != nil {
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				err = syntaxf("line %d: %s", syntax.Line, syntax.Msg)
			} else if err != io.EOF && !errors.Is(err, errQuota) && strings.HasPrefix(err.Error(), "xml: ") {
				err = syntaxf("%w", err)
			}
			return nil, err
		}
		switch t.(type) {
		case xml.Directive:
			return nil, syntaxf("a document type declaration")
		case xml.StartElement, xml.EndElement, xml.CharData:
			return t, nil
		}
	}
}

// element returns the next start of an element of the format, or false at the
// end of the one around it. Other elements are skipped, text but white space is
// an error.
func (d *xmlDecoder) element() (xml.StartElement, bool, error) {
	for {
		t, err := d.token()
		if err != nil {
			return xml.StartElement{}, false, unexpectedEnd(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			return xml.StartElement{}, false, nil
		case xml.CharData:
			if strings.Trim(string(t), " \t\r\n") != "" {
				return xml.StartElement{}, false, syntaxf("text outside of a term")
			}
		case xml.StartElement:
			if t.Name.Space == xmlNamespace {
				return t, true, nil
			}
			if err := d.skip(); err != nil {
				return xml.StartElement{}, false, err
			}
		}
	}
}

// skip reads to the end of the element begun.
func (d *xmlDecoder) skip() error {
	for depth := 1; depth > 0; {
		t, err := d.token()
		if err != nil {
			return unexpectedEnd(err)
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxNesting {
				return fmt.Errorf("%w: nested deeper than %d", ErrLimit, maxNesting)
			}
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// text reads the text of an element, to its end.
func (d *xmlDecoder) text() (string, error) {
	var b []byte
	for {
		t, err := d.token()
		if err != nil {
			return "", unexpectedEnd(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			return string(b), nil
		case xml.StartElement:
			return "", syntaxf("element %s inside of text", t.Name.Local)
		case xml.CharData:
			if b = append(b, t...); len(b) > triple.MaxTermBytes {
				return "", fmt.Errorf("%w: a term longer than %d bytes", ErrLimit, triple.MaxTermBytes)
			}
		}
	}
}

func attribute(e xml.StartElement, space, name string) *string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == space {
			return &a.Value
		}
	}
	return nil
}

func (d *xmlDecoder) begin(h *header) error {
	root, ok, err := d.element()
	if err != nil {
		return err
	}
	if !ok || root.Name.Local != "sparql" {
		return syntaxf("the root is no element sparql of the namespace %s", xmlNamespace)
	}
	// 1. The head, which must come first.
	head, ok, err := d.element()
	if err != nil {
		return err
	}
	if !ok || head.Name.Local != "head" {
		return syntaxf("no head")
	}
	if err := d.readHead(h); err != nil {
		return err
	}
	// 2. Results or a boolean. Rows must wait, because Next reads them.
	body, ok, err := d.element()
	switch {
	case err != nil:
		return err
	case ok && body.Name.Local == "results":
		if h.vars == nil {
			h.vars = []string{}
		}
		return nil
	case ok && body.Name.Local == "boolean":
		text, err := d.text()
		if err != nil {
			return err
		}
		text = strings.Trim(text, " \t\r\n")
		if text != "true" && text != "false" {
			return syntaxf("boolean is %.20q", text)
		}
		value := text == "true"
		h.boolean = &value
		return d.end()
	}
	return syntaxf("neither results nor a boolean after the head")
}

func (d *xmlDecoder) readHead(h *header) error {
	for {
		e, ok, err := d.element()
		if err != nil || !ok {
			return err
		}
		// Other elements are skipped, because extensions may add them.
		switch e.Name.Local {
		case "variable":
			name := attribute(e, "", "name")
			if name == nil {
				return syntaxf("a variable without a name")
			}
			if err := h.addVar(*name); err != nil {
				return err
			}
		case "link":
			if href := attribute(e, "", "href"); href != nil {
				// An endpoint must not fill memory with its head.
				if len(h.links) == maxVars {
					return fmt.Errorf("%w: more than %d links", ErrLimit, maxVars)
				}
				h.links = append(h.links, *href)
			}
		}
		if err := d.skip(); err != nil {
			return err
		}
	}
}

func (d *xmlDecoder) next(h *header, row []triple.Term) (bool, error) {
	// 1. The next result, or the end of the document.
	e, ok, err := d.element()
	switch {
	case err != nil:
		return false, err
	case !ok:
		return false, d.end()
	case e.Name.Local != "result":
		return false, syntaxf("element %s among the results", e.Name.Local)
	}
	// 2. Its bindings. A variable without one is unbound.
	for {
		e, ok, err := d.element()
		if err != nil {
			return false, err
		}
		if !ok {
			return true, nil
		}
		name := attribute(e, "", "name")
		if e.Name.Local != "binding" || name == nil {
			return false, syntaxf("element %s in a result, or a binding without a name", e.Name.Local)
		}
		t, err := d.term()
		if err != nil {
			return false, err
		}
		if err := h.bind(row, *name, t); err != nil {
			return false, err
		}
	}
}

// term reads the one term of a binding, and the binding's end.
func (d *xmlDecoder) term() (triple.Term, error) {
	var l levels
	t, err := d.innermost(&l)
	if err != nil {
		return triple.Term{}, err
	}
	return l.wrap(t)
}

// innermost reads the one term of an element, and the element's end. Of a triple term it returns the
// innermost object, and adds the levels. Without l a triple term is an error.
func (d *xmlDecoder) innermost(l *levels) (triple.Term, error) {
	// 1. The element of the term.
	e, ok, err := d.element()
	if err != nil {
		return triple.Term{}, err
	}
	if !ok {
		return triple.Term{}, syntaxf("a binding, or a part of a triple term, without a term")
	}
	if e.Name.Local == "triple" {
		if l == nil {
			return triple.Term{}, syntaxf("a triple term as the subject or predicate of another one")
		}
		t, err := d.readTriple(l)
		if err != nil {
			return triple.Term{}, err
		}
		return t, d.lastTerm()
	}
	text, err := d.text()
	if err != nil {
		return triple.Term{}, err
	}
	// 2. Its kind.
	var t triple.Term
	switch e.Name.Local {
	case "uri":
		t, err = checked(triple.NewIRI(text))
	case "bnode":
		t = blank(text)
	case "literal":
		t, err = literal(text, attribute(e, "", "datatype"), attribute(e, "http://www.w3.org/XML/1998/namespace", "lang"), attribute(e, itsNamespace, "dir"))
	default:
		err = syntaxf("element %s as a term", e.Name.Local)
	}
	if err != nil {
		return triple.Term{}, err
	}
	// 3. Nothing may follow it.
	return t, d.lastTerm()
}

// lastTerm reads the end of the element around a term.
func (d *xmlDecoder) lastTerm() error {
	_, more, err := d.element()
	if err == nil && more {
		err = syntaxf("two terms in a binding, or in a part of a triple term")
	}
	return err
}

// readTriple reads the parts of a triple term, and its end. It returns the innermost object.
func (d *xmlDecoder) readTriple(l *levels) (object triple.Term, err error) {
	if err := l.enter(); err != nil {
		return object, err
	}
	var s, p triple.Term
	for {
		e, ok, err := d.element()
		if err != nil {
			return object, err
		}
		if !ok {
			break
		}
		into := &object
		switch e.Name.Local {
		case "subject":
			into = &s
		case "predicate":
			into = &p
		case "object":
		default:
			return object, syntaxf("element %s in a triple term", e.Name.Local)
		}
		if !into.IsZero() {
			return object, syntaxf("two elements %s in a triple term", e.Name.Local)
		}
		// Only the object adds levels, because a triple term is no subject or predicate.
		if into == &object {
			*into, err = d.innermost(l)
		} else {
			*into, err = d.innermost(nil)
		}
		if err != nil {
			return object, err
		}
	}
	if object.IsZero() {
		return object, syntaxf("a triple term without an object")
	}
	return object, l.add(s, p)
}

// end reads the end of the root and the rest: only white space and comments may follow.
func (d *xmlDecoder) end() error {
	if _, more, err := d.element(); err != nil || more {
		if err == nil {
			err = syntaxf("an element after the results")
		}
		return err
	}
	for {
		t, err := d.token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := t.(xml.CharData); !ok || strings.Trim(string(text), " \t\r\n") != "" {
			return syntaxf("something after the document's end")
		}
	}
}
