// XML tokens, with their namespaces.

package rdfxml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/rdfload/syntax/ncname"
	"github.com/trefoildb/trefoil/triple"
)

// Namespaces of attributes: of XML and of the Internationalization Tag Set.
const (
	xmlNamespace = "http://www.w3.org/XML/1998/namespace"
	itsNamespace = "http://www.w3.org/2005/11/its"
)

// name is an XML name with its namespace, and its prefix as in the document.
type name struct {
	prefix, local, space string
}

// raw returns the name as in the document.
func (n name) raw() string {
	if n.prefix == "" {
		return n.local
	}
	return n.prefix + ":" + n.local
}

// attribute is an attribute other than a namespace declaration.
type attribute struct {
	name
	value string
}

// element is a start tag.
type element struct {
	name
	at    place
	attrs []attribute
}

// binding is a namespace declaration in scope. If the namespace is "", it removes the declaration.
type binding struct {
	prefix, space string
	depth         int // of the declaring element
}

// tokens reads XML tokens: it checks well-formedness and resolves namespaces.
type tokens struct {
	source  *source
	xml     *xml.Decoder
	name    string // of the document
	at      place  // place of the last token
	open    []name
	scope   []binding
	started bool                   // the root element has been seen
	prefix  func(name, iri string) // Options.Prefix
	warn    func(message string)   // Options.Warn
}

func newTokens(r io.Reader, opts Options) *tokens {
	t := &tokens{source: newSource(r, opts.MaxBytes), name: opts.Source, prefix: opts.Prefix, warn: opts.Warn}
	t.xml = xml.NewDecoder(t.source)
	t.xml.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		return input, t.source.declare(charset)
	}
	return t
}

// next returns the next token: an element, an xml.EndElement, an xml.CharData, an xml.Comment or an
// xml.ProcInst. Its bytes are valid until the next call. At the end it returns io.EOF; all elements
// are closed then.
func (t *tokens) next() (any, error) {
	for {
		// 1. Read a token. The source limits each token by itself, from its start.
		t.at = t.source.placeOf(t.xml.InputOffset())
		t.source.tokenStart = t.at.offset
		token, err := t.xml.RawToken()
		if err != nil {
			return nil, t.explain(err)
		}
		// 2. Check the token, and skip those outside of the root element. xml.RawToken checks
		// neither tags nor order.
		switch token := token.(type) {
		case xml.StartElement:
			return t.start(token)
		case xml.EndElement:
			return token, t.end(token)
		case xml.Directive:
			if err := t.directive(string(token)); err != nil {
				return nil, err
			}
		case xml.ProcInst:
			if token.Target == "xml" && t.at.offset > 3 {
				return nil, t.fail("an XML declaration stands at a document's very start")
			}
			if len(t.open) > 0 {
				return token, nil
			}
		case xml.CharData:
			if len(t.open) > 0 {
				return token, nil
			}
			if text := strings.TrimPrefix(string(token), "\uFEFF"); strings.Trim(text, " \t\r\n") != "" {
				return nil, t.fail("text outside of the root element")
			}
		default:
			return token, nil
		}
	}
}

// start declares the namespaces of a start tag and resolves its names.
func (t *tokens) start(tag xml.StartElement) (any, error) {
	// 1. Check that the element may be here.
	if len(t.open) == 0 && t.started {
		return nil, t.fail("a second root element <%s>", clip(rawName(tag.Name)))
	}
	if len(t.open) >= MaxDepth {
		return nil, t.fail("elements nested more than %d deep", MaxDepth)
	}
	t.started = true
	// 2. Declare all namespaces first, because they hold for the tag's own names too.
	depth := len(t.open) + 1
	for _, a := range tag.Attr {
		prefix, ok := declares(a.Name)
		if !ok {
			continue
		}
		if prefix == "xml" && a.Value != xmlNamespace || prefix == "xmlns" || prefix != "" && a.Value == "" {
			return nil, t.fail("the prefix %s cannot be bound to %q", clip(prefix), clip(a.Value))
		}
		for _, b := range t.scope {
			if b.depth == depth && b.prefix == prefix {
				return nil, t.fail("the prefix %q is declared twice", clip(prefix))
			}
		}
		t.scope = append(t.scope, binding{strings.Clone(prefix), strings.Clone(a.Value), depth})
		if t.prefix != nil && prefix != "" {
			t.prefix(prefix, a.Value)
		}
	}
	// 3. Resolve the names. Two attributes must not have the same name after that.
	e := element{at: t.at}
	var err error
	if e.name, err = t.resolve(tag.Name, true); err != nil {
		return nil, err
	}
	for i, a := range tag.Attr {
		if _, ok := declares(a.Name); ok {
			continue
		}
		n, err := t.resolve(a.Name, false)
		if err != nil {
			return nil, err
		}
		for _, other := range e.attrs {
			if other.space == n.space && other.local == n.local {
				return nil, t.fail("the attribute %s stands twice in <%s>", clip(n.raw()), clip(e.raw()))
			}
		}
		if i > 1000 {
			return nil, t.fail("more than 1000 attributes")
		}
		e.attrs = append(e.attrs, attribute{n, a.Value})
	}
	t.open = append(t.open, e.name)
	return e, nil
}

// declares returns the prefix if an attribute declares a namespace; ok is false if it does not.
func declares(n xml.Name) (prefix string, ok bool) {
	if n.Space == "xmlns" {
		return n.Local, true
	}
	return "", n.Space == "" && n.Local == "xmlns"
}

// resolve finds the namespace of a name. An attribute without a prefix has none.
func (t *tokens) resolve(n xml.Name, isElement bool) (name, error) {
	if !ncname.Is(n.Local) || n.Space != "" && !ncname.Is(n.Space) {
		return name{}, t.fail("%q is no name", clip(rawName(n)))
	}
	out := name{prefix: n.Space, local: n.Local}
	if n.Space == "" && !isElement {
		return out, nil
	}
	space, ok := t.lookup(n.Space)
	if !ok && n.Space != "" {
		return name{}, t.fail("the namespace prefix %s is not declared", clip(n.Space))
	}
	out.space = space
	return out, nil
}

// lookup returns the namespace of a prefix; the innermost declaration counts.
func (t *tokens) lookup(prefix string) (string, bool) {
	if prefix == "xml" {
		return xmlNamespace, true
	}
	for i := len(t.scope) - 1; i >= 0; i-- {
		if t.scope[i].prefix == prefix {
			return t.scope[i].space, true
		}
	}
	return "", false
}

// end checks an end tag and removes its element's declarations from the scope.
func (t *tokens) end(tag xml.EndElement) error {
	depth := len(t.open)
	if depth == 0 {
		return t.fail("</%s> closes nothing", clip(rawName(tag.Name)))
	}
	if open := t.open[depth-1]; open.prefix != tag.Name.Space || open.local != tag.Name.Local {
		return t.fail("</%s> closes <%s>", clip(rawName(tag.Name)), clip(open.raw()))
	}
	t.open = t.open[:depth-1]
	for len(t.scope) > 0 && t.scope[len(t.scope)-1].depth == depth {
		t.scope = t.scope[:len(t.scope)-1]
	}
	return nil
}

// directive reads the entities of a DOCTYPE. Other directives are errors.
func (t *tokens) directive(text string) error {
	if !strings.HasPrefix(text, "DOCTYPE") || t.started || t.xml.Entity != nil {
		return t.fail("unexpected <!%s>", clip(text))
	}
	found, err := entities(text)
	if err != nil {
		return t.fail("%v", err)
	}
	longest := 0
	for _, value := range found {
		longest = max(longest, len(value))
	}
	t.xml.Entity = found
	// Divide the limit by the largest growth of a token, because a reference has at least three
	// bytes.
	t.source.tokenLimit = maxToken / int64(1+longest/3)
	return nil
}

// explain converts an error of the decoder into one of the document or the reader.
func (t *tokens) explain(err error) error {
	t.at = t.source.at
	var syntax *xml.SyntaxError
	var encoding badEncoding
	// Errors of the source come first, because the decoder wraps them or replaces them.
	switch {
	case errors.Is(t.source.err, errTooLarge), errors.As(t.source.err, &encoding):
		return t.fail("%v", t.source.err)
	case t.source.err != nil && t.name == "":
		return fmt.Errorf("read: %w", t.source.err)
	case t.source.err != nil:
		return fmt.Errorf("read %s: %w", t.name, t.source.err)
	case err == io.EOF && len(t.open) > 0:
		return t.fail("the document ends here; <%s> is not closed", clip(t.open[len(t.open)-1].raw()))
	case err == io.EOF && !t.started:
		return t.fail("the document ends here; expected a root element")
	case err == io.EOF:
		return io.EOF
	case errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return t.fail("the document ends here, within a tag, a comment or a declaration")
	case errors.As(err, &syntax):
		return t.fail("%s", syntax.Msg)
	}
	if _, why, ok := strings.Cut(err.Error(), "encoding "); ok && strings.HasPrefix(err.Error(), "xml: opening charset") {
		return t.fail("encoding %s", why)
	}
	return t.fail("%s", strings.TrimPrefix(err.Error(), "xml: "))
}

// fail returns an error at the current token.
func (t *tokens) fail(format string, args ...any) error { return t.failAt(t.at, format, args...) }

func (t *tokens) failAt(at place, format string, args ...any) error {
	return &triple.SyntaxError{Source: t.name, Line: at.line, Column: at.column + 1, Offset: at.offset, Msg: fmt.Sprintf(format, args...)}
}

func rawName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// clip shortens a string for a message to about 80 bytes.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
