// The writer of RDF/XML.

package rdfxml

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/rdfload/syntax/ncname"
	"github.com/trefoildb/trefoil/triple"
)

// ErrInexpressible means that RDF/XML cannot express a triple (RDF 1.1 XML Syntax, section 5; XML
// 1.0, section 2.2). Its predicate does not end in a name of XML, its text has a control character,
// or it has triple terms nested more than 400 deep.
var ErrInexpressible = errors.New("RDF/XML cannot express it; choose another syntax")

// notProperties are the names of RDF's namespace that must not be property elements (section 5.1).
// li is among them because a reader would number it.
var notProperties = []string{"RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "Description",
	"aboutEach", "aboutEachPrefix", "bagID", "li", "annotation", "annotationNodeID", "version"}

// maxTripleDepth is the greatest depth of triple terms. Each takes two elements, and [MaxDepth] bounds
// those of a reader.
const maxTripleDepth = 400

// Writer writes RDF/XML as a stream. Consecutive triples of one subject share its element. The
// writer remembers only that subject. Only one goroutine may use it.
type Writer struct {
	w     *bufio.Writer
	names map[string]string // namespace -> prefix, as declared at the root
	open  triple.Term       // subject of the open element
	line  []byte
	err   error
}

// NewWriter returns a writer to w and writes the beginning of the document. It declares the
// prefixes (without ':') if they are names of XML. The caller must Close the writer; if w fails,
// the next Write or Close returns its error.
func NewWriter(w io.Writer, prefixes map[string]string) (*Writer, error) {
	x := &Writer{w: bufio.NewWriterSize(w, 64<<10), names: map[string]string{triple.RDF: "rdf"}}
	x.line = append(x.line, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rdf:RDF xmlns:rdf=\""+triple.RDF+`"`...)
	for _, name := range slices.Sorted(maps.Keys(prefixes)) {
		namespace := prefixes[name]
		if _, ok := x.names[namespace]; ok || !ncname.Is(name) || strings.HasPrefix(strings.ToLower(name), "xml") || name == "rdf" || namespace == "" {
			continue
		}
		if err := triple.CheckIRI(namespace); err != nil {
			return nil, fmt.Errorf("prefix %q: %w", name, err)
		}
		x.names[namespace] = name
		x.line = append(x.line, "\n  xmlns:"+name+`="`...)
		x.text(namespace, true)
		x.line = append(x.line, '"')
	}
	x.line = append(x.line, ">\n"...)
	return x, x.flush()
}

// Write writes a triple of the default graph; its terms must pass their Check. If the error is
// [ErrInexpressible], the document is unchanged.
func (x *Writer) Write(t triple.Triple) error {
	if x.err != nil {
		return x.err
	}
	x.line = x.line[:0]
	if t.Subject != x.open {
		x.end()
		x.line = append(x.line, "<rdf:Description"...)
		x.node(t.Subject, "rdf:about")
		x.line = append(x.line, ">\n"...)
	}
	if err := x.property(t.Predicate, t.Object, 0); err != nil {
		return fmt.Errorf("%.300s: %w", t, err)
	}
	x.open = t.Subject
	return x.flush()
}

// Close ends the document and flushes it. It does not close w.
func (x *Writer) Close() error {
	if x.err != nil {
		return x.err
	}
	x.line = x.line[:0]
	x.end()
	x.open = triple.Term{}
	x.line = append(x.line, "</rdf:RDF>\n"...)
	if err := x.flush(); err != nil {
		return err
	}
	x.err = x.w.Flush()
	return x.err
}

func (x *Writer) end() {
	if !x.open.IsZero() {
		x.line = append(x.line, "</rdf:Description>\n"...)
	}
}

func (x *Writer) flush() error {
	_, x.err = x.w.Write(x.line)
	return x.err
}

// property writes a property element; depth is that of the triple term that it is inside of.
func (x *Writer) property(predicate, object triple.Term, depth int) error {
	// 1. Split the IRI: the local name is its longest suffix that is a name of XML.
	iri := predicate.Value()
	at := len(iri) // start of the longest suffix of name characters
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(iri[:at])
		if !ncname.Is("_" + string(r)) {
			break
		}
		at -= size
	}
	for at < len(iri) && !ncname.Is(iri[at:]) { // digits are name characters, but must not be first
		_, size := utf8.DecodeRuneInString(iri[at:])
		at += size
	}
	namespace, local := iri[:at], iri[at:]
	// The syntax names of RDF would change the meaning, so they must be rejected.
	if local == "" || namespace == "" || namespace == triple.RDF && slices.Contains(notProperties, local) {
		return fmt.Errorf("the predicate <%s> is no name of an element: %w", iri, ErrInexpressible)
	}
	// 2. Write the start tag. A namespace without a prefix is declared in place.
	name, declared := x.names[namespace]
	if !declared {
		name = "p"
	}
	name += ":" + local
	x.line = append(x.line, "  <"+name...)
	if !declared {
		x.line = append(x.line, ` xmlns:p="`...)
		x.text(namespace, true)
		x.line = append(x.line, '"')
	}
	// 3. Write the object: an attribute for a resource, text for a literal.
	if object.Kind() == triple.TripleTerm {
		return x.tripleTerm(name, object, depth)
	}
	if object.Kind() != triple.Literal {
		x.node(object, "rdf:resource")
		x.line = append(x.line, "/>\n"...)
		return nil
	}
	if lang := object.Lang(); lang != "" {
		x.line = append(x.line, ` xml:lang="`+lang+`"`...)
		if direction := object.Direction(); direction != "" {
			x.line = append(x.line, ` rdf:version="1.2" xmlns:its="`+itsNamespace+`" its:version="2.0" its:dir="`+direction+`"`...)
		}
	} else if datatype := object.Datatype(); datatype != triple.XSD+"string" {
		x.line = append(x.line, ` rdf:datatype="`...)
		x.text(datatype, true)
		x.line = append(x.line, '"')
	}
	x.line = append(x.line, '>')
	if !x.text(object.Value(), false) {
		return fmt.Errorf("the text has a character that XML has not: %w", ErrInexpressible)
	}
	x.line = append(x.line, "</"+name+">\n"...)
	return nil
}

// tripleTerm writes the rest of the element called name, whose object is a triple term.
func (x *Writer) tripleTerm(name string, object triple.Term, depth int) error {
	if depth++; depth > maxTripleDepth {
		return fmt.Errorf("triple terms are nested more than %d deep: %w", maxTripleDepth, ErrInexpressible)
	}
	inner, ok := object.Triple()
	if !ok {
		return fmt.Errorf("%w: a triple term without a triple", triple.ErrBadTerm)
	}
	if depth == 1 {
		x.line = append(x.line, ` rdf:version="1.2"`...)
	}
	x.line = append(x.line, ` rdf:parseType="Triple"><rdf:Description`...)
	x.node(inner.Subject, "rdf:about")
	x.line = append(x.line, ">\n"...)
	if err := x.property(inner.Predicate, inner.Object, depth); err != nil {
		return err
	}
	x.line = append(x.line, "  </rdf:Description></"+name+">\n"...)
	return nil
}

// node writes an attribute with an IRI or a blank node.
func (x *Writer) node(t triple.Term, attribute string) {
	if t.Kind() == triple.Blank {
		// A label need not be a name of XML. If a label looks like a replacement, it must be
		// replaced too, because two labels must not become one.
		label := t.Value()
		if !ncname.Is(label) || strings.HasPrefix(label, "x-") {
			label = "x-" + hex.EncodeToString([]byte(label))
		}
		x.line = append(x.line, ` rdf:nodeID="`+label+`"`...)
		return
	}
	x.line = append(x.line, ' ')
	x.line = append(x.line, attribute...)
	x.line = append(x.line, `="`...)
	x.text(t.Value(), true)
	x.line = append(x.line, '"')
}

// text appends escaped character data. It returns false if XML lacks one of the characters.
func (x *Writer) text(s string, attribute bool) bool {
	for _, r := range s {
		switch {
		case r == '&':
			x.line = append(x.line, "&amp;"...)
		case r == '<':
			x.line = append(x.line, "&lt;"...)
		case r == '>':
			x.line = append(x.line, "&gt;"...)
		case r == '"' && attribute:
			x.line = append(x.line, "&quot;"...)
		case r == '\r': // because a reader converts it to a line feed (XML 1.0, section 2.11)
			x.line = append(x.line, "&#xD;"...)
		case r < ' ' && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
			return false
		default:
			x.line = utf8.AppendRune(x.line, r)
		}
	}
	return true
}
