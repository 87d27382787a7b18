// The parser: node elements and their subjects.

package rdfxml

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/rdfload/syntax/ncname"
	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// maxIDs bounds the number of remembered rdf:IDs. If there are more, a second use is not detected.
const maxIDs = 4 << 20

var errStopped = errors.New("stopped by the receiver")

// context is the state that an element passes on to its children.
type context struct {
	base      iri.Base
	lang      string
	direction string // from its:dir; it counts only with a language
	version12 bool   // rdf:version announces RDF 1.2
}

// parser follows the grammar of section 7 of the recommendation, with one method for each
// production.
type parser struct {
	*tokens
	yield   func(triple.Triple, error) bool
	blanks  blank.Nodes
	base    iri.Base
	ids     map[uint64]bool
	stopped bool
	sole    *soleTriple // of the open rdf:parseType="Triple"; nil outside
	warned  bool
}

func newParser(r io.Reader, opts Options, yield func(triple.Triple, error) bool) *parser {
	p := &parser{tokens: newTokens(r, opts), yield: yield, blanks: blank.Nodes{Prefix: opts.BlankPrefix}, ids: make(map[uint64]bool)}
	if opts.Base != "" {
		p.base, _ = iri.NewBase(opts.Base) // cannot fail, because Validate has checked it
	}
	return p
}

// document parses rdf:RDF or a single node element.
func (p *parser) document() error {
	// 1. The root is rdf:RDF, or the only node element.
	ctx := context{base: p.base}
	root, err := p.child(true)
	if err != nil {
		return err
	}
	if strings.EqualFold(root.local, "TriX") && strings.Contains(root.space, "/trix/") {
		return p.failAt(root.at, "this is TriX, which is not read; convert it to TriG or N-Quads")
	}
	if root.space == triple.RDF && root.local == "RDF" {
		inner, attrs, err := p.enter(ctx, root)
		if err != nil {
			return err
		}
		if len(attrs) > 0 {
			return p.failAt(root.at, "rdf:RDF takes no attribute %s", clip(attrs[0].raw()))
		}
		err = p.nodes(inner, func(triple.Term) error { return nil })
		if err != nil {
			return err
		}
	} else if _, err := p.node(ctx, *root); err != nil {
		return err
	}
	// 2. Read to the end, because the rest must be well-formed too.
	for {
		switch _, err := p.next(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// child returns the next element, or nil if the current one ends. Text is an error unless it is
// white space or atTop is true.
func (p *parser) child(atTop bool) (*element, error) {
	for {
		token, err := p.next()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case element:
			return &token, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if !atTop && strings.Trim(string(token), " \t\r\n") != "" {
				return nil, p.fail("text %q where only elements may stand", clip(strings.TrimSpace(string(token))))
			}
		}
	}
}

// nodes parses node elements to the end of the current element, and calls use with each node.
func (p *parser) nodes(ctx context, use func(triple.Term) error) error {
	for {
		e, err := p.child(false)
		if err != nil || e == nil {
			return err
		}
		node, err := p.node(ctx, *e)
		if err == nil {
			err = use(node)
		}
		if err != nil {
			return err
		}
	}
}

// enter applies xml:base, xml:lang, rdf:version and its:dir, and returns the other attributes. If an
// attribute without a namespace is allowed, it becomes one of RDF's.
func (p *parser) enter(ctx context, e *element) (context, []attribute, error) {
	// 1. The version comes first, because its:dir depends on it.
	for _, a := range e.attrs {
		if a.space == triple.RDF && a.local == "version" {
			ctx.version12 = a.value != "" && a.value != "1.0" && a.value != "1.1"
		}
	}
	// 2. The attributes are filtered in place: the element must not be used for them afterwards.
	attrs := e.attrs[:0]
	for _, a := range e.attrs {
		switch {
		case a.space == triple.RDF && a.local == "version", a.space == itsNamespace && a.local == "version":
			// The version of ITS has no meaning for RDF.
		case a.space == itsNamespace && a.local == "dir":
			if err := p.direct(&ctx, e.at, a.value); err != nil {
				return ctx, nil, err
			}
		case a.space == xmlNamespace && a.local == "lang":
			ctx.lang = a.value
			if a.value != "" {
				lang := triple.NewLang("", a.value)
				if err := cmp.Or(lang.Check(), lang.CheckLanguage()); err != nil {
					return ctx, nil, p.failAt(e.at, "xml:lang: %v", err)
				}
				if lang.Direction() != "" {
					return ctx, nil, p.failAt(e.at, "xml:lang: %q has a base direction, which its:dir gives", clip(a.value))
				}
			}
		case a.space == xmlNamespace && a.local == "base":
			base, err := iri.NewBase(ctx.base.Resolve(a.value))
			if err != nil {
				return ctx, nil, p.failAt(e.at, "xml:base: %v", err)
			}
			ctx.base = base
		case a.space == xmlNamespace || len(a.raw()) >= 3 && strings.EqualFold(a.raw()[:3], "xml"):
			// Such attributes are ignored (section 6.1.2).
		case a.prefix == "":
			// Only these names may lack a namespace; they then count as RDF's.
			switch a.local {
			case "about", "ID", "resource", "parseType", "type":
				a.space = triple.RDF
				attrs = append(attrs, a)
			default:
				return ctx, nil, p.failAt(e.at, "the attribute %s has no namespace", clip(a.local))
			}
		default:
			attrs = append(attrs, a)
		}
	}
	return ctx, attrs, nil
}

// direct applies its:dir, which means something only in RDF 1.2.
func (p *parser) direct(ctx *context, at place, value string) error {
	switch {
	case !ctx.version12:
		p.warnAt(at, "its:dir is ignored, because no rdf:version=\"1.2\" is on this element or around it")
	case value != "ltr" && value != "rtl" && value != "":
		return p.failAt(at, "its:dir is ltr, rtl or empty, not %q", clip(value))
	default:
		ctx.direction = value
	}
	return nil
}

// warnAt passes on a message about what is ignored, once for a document.
func (p *parser) warnAt(at place, message string) {
	if p.warn == nil || p.warned {
		return
	}
	p.warned = true
	p.warn(p.failAt(at, "%s", message).Error())
}

// Names of the RDF namespace that are syntax, by the places that forbid them.
const (
	notNode      = 1 << iota // as a node element
	notProperty              // as a property element
	notAttribute             // as a property attribute
)

var syntaxNames = map[string]uint8{
	"RDF": notNode | notProperty | notAttribute, "ID": notNode | notProperty | notAttribute,
	"about": notNode | notProperty | notAttribute, "parseType": notNode | notProperty | notAttribute,
	"resource": notNode | notProperty | notAttribute, "nodeID": notNode | notProperty | notAttribute,
	"datatype": notNode | notProperty | notAttribute, "aboutEach": notNode | notProperty | notAttribute,
	"aboutEachPrefix": notNode | notProperty | notAttribute, "bagID": notNode | notProperty | notAttribute,
	"annotation": notNode | notProperty | notAttribute, "annotationNodeID": notNode | notProperty | notAttribute,
	"version":     notNode | notProperty | notAttribute,
	"Description": notProperty | notAttribute, "li": notNode | notAttribute,
}

// nameIRI returns the IRI of an element's or attribute's name. It rejects a name if forbidden
// includes a place that the name must not have.
func (p *parser) nameIRI(at place, n name, forbidden uint8, as string) (string, error) {
	if n.space == triple.RDF && syntaxNames[n.local]&forbidden != 0 {
		return "", p.failAt(at, "rdf:%s may not stand as a %s", n.local, as)
	}
	if n.space == "" {
		return "", p.failAt(at, "the %s %s has no namespace", as, clip(n.raw()))
	}
	s := n.space + n.local
	if err := triple.CheckIRI(s); err != nil {
		return "", p.failAt(at, "%s %s: %v", as, clip(n.raw()), err)
	}
	return s, nil
}

// node parses a node element and returns its subject.
func (p *parser) node(ctx context, e element) (triple.Term, error) {
	// 1. The element's name is the class of the node.
	ctx, attrs, err := p.enter(ctx, &e)
	if err != nil {
		return triple.Term{}, err
	}
	class, err := p.nameIRI(e.at, e.name, notNode, "node element")
	if err != nil {
		return triple.Term{}, err
	}
	// 2. Find the subject among the attributes; at most one may name it.
	var subject triple.Term
	properties := attrs[:0]
	for _, a := range attrs {
		if a.space != triple.RDF || a.local != "about" && a.local != "ID" && a.local != "nodeID" {
			properties = append(properties, a)
			continue
		}
		if !subject.IsZero() {
			return subject, p.failAt(e.at, "<%s> has two of rdf:about, rdf:ID and rdf:nodeID", clip(e.raw()))
		}
		switch a.local {
		case "about":
			subject, err = p.resource(ctx, e.at, a.value)
		case "ID":
			subject, err = p.id(ctx, e.at, a.value)
		case "nodeID":
			subject, err = p.nodeID(e.at, a.value)
		}
		if err != nil {
			return subject, err
		}
	}
	// 3. Yield the type and the properties in attributes.
	if subject.IsZero() {
		subject = p.blanks.Anonymous()
	}
	if class != triple.RDF+"Description" {
		if err := p.emit(e.at, subject, triple.RDFType, triple.NewIRI(class)); err != nil {
			return subject, err
		}
	}
	if err := p.propertyAttributes(ctx, e.at, subject, properties); err != nil {
		return subject, err
	}
	// 4. Parse the property elements. members counts rdf:li, because it numbers them per node.
	members := 0
	for {
		property, err := p.child(false)
		if err != nil || property == nil {
			return subject, err
		}
		if err := p.property(ctx, subject, *property, &members); err != nil {
			return subject, err
		}
	}
}

// propertyAttributes yields a triple for each property attribute.
func (p *parser) propertyAttributes(ctx context, at place, subject triple.Term, attrs []attribute) error {
	for _, a := range attrs {
		predicate, err := p.nameIRI(at, a.name, notAttribute, "property attribute")
		if err != nil {
			return err
		}
		object := p.plain(ctx, a.value)
		if predicate == triple.RDFType {
			if object, err = p.resource(ctx, at, a.value); err != nil {
				return err
			}
		}
		if err := p.emit(at, subject, predicate, object); err != nil {
			return err
		}
	}
	return nil
}

// plain returns a literal in the current language and base direction.
func (p *parser) plain(ctx context, text string) triple.Term {
	switch {
	case ctx.lang == "":
		return triple.NewString(text)
	case ctx.direction == "":
		return triple.NewLang(text, ctx.lang)
	}
	return triple.NewLang(text, ctx.lang+"--"+ctx.direction)
}

// resource returns the IRI of a reference, resolved against the base.
func (p *parser) resource(ctx context, at place, ref string) (triple.Term, error) {
	s := ctx.base.Resolve(ref)
	if err := triple.CheckIRI(s); err != nil {
		if ctx.base.IsZero() && !iri.HasScheme(ref) {
			return triple.Term{}, p.failAt(at, "relative IRI %q and no base", clip(ref))
		}
		return triple.Term{}, p.failAt(at, "%v", err)
	}
	return triple.NewIRI(s), nil
}

// id returns the IRI of an rdf:ID. It must be used only once with one base.
func (p *parser) id(ctx context, at place, value string) (triple.Term, error) {
	if !ncname.Is(value) {
		return triple.Term{}, p.failAt(at, "rdf:ID %q is no XML name without ':'", clip(value))
	}
	term, err := p.resource(ctx, at, "#"+value)
	if err != nil {
		return term, err
	}
	hash := xxhash.Sum64String(term.Value())
	if p.ids[hash] {
		return term, p.failAt(at, "rdf:ID %q is used twice", clip(value))
	}
	if len(p.ids) < maxIDs {
		p.ids[hash] = true
	}
	return term, nil
}

func (p *parser) nodeID(at place, value string) (triple.Term, error) {
	if !ncname.Is(value) {
		return triple.Term{}, p.failAt(at, "rdf:nodeID %q is no XML name without ':'", clip(value))
	}
	return p.blanks.Any(value), nil
}

// emit yields a triple of an element. The error has the element's place. It is errStopped if the
// receiver stops.
func (p *parser) emit(at place, subject triple.Term, predicate string, object triple.Term) error {
	t := triple.Triple{Subject: subject, Predicate: triple.NewIRI(predicate), Object: object}
	if err := t.Check(); err != nil {
		return p.failAt(at, "%v", err)
	}
	if err := object.CheckNesting(); err != nil {
		return p.failAt(at, "%v", err)
	}
	if p.sole != nil {
		return p.addSole(at, t, nil)
	}
	if !p.yield(t, nil) {
		p.stopped = true
		return errStopped
	}
	return nil
}

// memberIRI returns the n-th container membership property, counted from 1.
func memberIRI(n int) string { return triple.RDF + "_" + strconv.Itoa(n) }
