// Patterns of fragments: terms in URLs, in the explicit representation of Hydra. IRIs are bare, and
// literals are in quotes without escapes.

package triples

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// DefaultGraphIRI selects the default graph.
	DefaultGraphIRI = "urn:ldf:defaultGraph"
	genidPath       = "/.well-known/genid/"
)

// parsePattern parses the pattern. If no triple can match it, such as one with a literal as subject, it is
// still valid, because clients send such patterns when they join.
func (f *fragment) parsePattern(p request.Params) error {
	// 1. Parse the four terms.
	pattern := triple.Pattern{}
	for _, place := range []struct {
		name string
		into *triple.Term
	}{{"subject", &pattern.Subject}, {"predicate", &pattern.Predicate}, {"object", &pattern.Object}, {"graph", &pattern.Graph}} {
		t, err := f.term(place.name, p[place.name])
		if err != nil {
			return err
		}
		*place.into = t
	}
	if pattern.Graph == triple.NewIRI(DefaultGraphIRI) {
		pattern.Graph, pattern.DefaultGraph = triple.Term{}, true
	}
	// 2. Find out if anything can match, and read limit and cursor.
	noNode := func(t triple.Term) bool { return t.Kind() == triple.Literal || t.Kind() == triple.TripleTerm }
	f.nothing = noNode(pattern.Subject) || noNode(pattern.Graph) || noNode(pattern.Predicate) || pattern.Predicate.Kind() == triple.Blank
	scan, err := pattern.Scan(pattern.Best())
	if err != nil {
		return err
	}
	f.query = &query{pattern: pattern, keys: scan.Range}
	if err := f.query.readPaging(p); err != nil {
		return err
	}
	if f.query.limit == 0 {
		f.query.limit = FragmentItems
	}
	return nil
}

// term parses one term: an IRI, with or without angle brackets; a literal "text", "text"@tag or
// "text"^^datatype; a triple term in the syntax of N-Triples; or a variable ?x or nothing, for the zero Term.
func (f *fragment) term(name, text string) (t triple.Term, err error) {
	bad := func(message string, args ...any) (triple.Term, error) {
		return triple.Term{}, problem.Errorf(problem.KindBadParameter, name, message, args...)
	}
	switch {
	case text == "" || text[0] == '?':
		return t, nil
	case text[0] == '"':
		t, err = explicitLiteral(text)
	case strings.HasPrefix(text, "_:"):
		return bad(noLabel, f.genid)
	case strings.HasPrefix(text, "<<"):
		if t, err = triple.ParseTerm(text); err == nil && t.HasBlanks() {
			return bad(noLabel, f.genid)
		}
		t = f.unskolemize(t)
	default:
		t = f.unskolemize(bracketedIRI(text))
	}
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return bad("%v; give an IRI, \"a literal\", \"...\"@tag, \"...\"^^datatype, <<( a triple term )>> without variables, or ?variable", err)
	}
	return t, nil
}

const noLabel = "a blank node cannot be asked for by a label; answers name blank nodes by IRIs under %s, which can"

// unskolemize replaces the IRIs of blank nodes by the blank nodes, also those inside of a triple term.
func (f *fragment) unskolemize(t triple.Term) triple.Term {
	node := func(t triple.Term) triple.Term {
		if label, ok := strings.CutPrefix(t.Value(), f.genid); ok && t.Kind() == triple.IRI {
			return triple.NewBlank(label)
		}
		return t
	}
	var levels triple.TripleTermBuilder
	for t.Kind() == triple.TripleTerm {
		inner, ok := t.Triple()
		if !ok {
			return t // its check fails
		}
		levels.Add(node(inner.Subject), inner.Predicate)
		t = inner.Object
	}
	if levels.Len() == 0 {
		return node(t)
	}
	return levels.Term(node(t))
}

func bracketedIRI(text string) triple.Term {
	if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		text = text[1 : len(text)-1]
	}
	return triple.NewIRI(text)
}

// explicitLiteral parses a literal. Its text ends at the last quote, because it has no escapes.
func explicitLiteral(text string) (triple.Term, error) {
	end := strings.LastIndexByte(text, '"')
	if end == 0 {
		return triple.Term{}, errors.New("the literal has no closing quote")
	}
	lexical, rest := text[1:end], text[end+1:]
	switch {
	case rest == "":
		return triple.NewString(lexical), nil
	case rest[0] == '@' && len(rest) > 1:
		return triple.NewLang(lexical, rest[1:]), nil
	case strings.HasPrefix(rest, "^^"):
		datatype := bracketedIRI(rest[2:])
		if err := datatype.Check(); err != nil {
			return triple.Term{}, err
		}
		return triple.NewTyped(lexical, datatype.Value()), nil
	}
	return triple.Term{}, fmt.Errorf("%q after the literal", problem.Clip(rest))
}

// skolemize replaces blank nodes by IRIs, also those inside of a triple term.
func (f *fragment) skolemize(t *triple.Triple) (err error) {
	for _, term := range [...]*triple.Term{&t.Subject, &t.Object, &t.Graph} {
		if !term.HasBlanks() {
			continue
		}
		*term, err = term.MapBlanks(func(node triple.Term) (triple.Term, error) { return triple.NewIRI(f.genid + node.Value()), nil })
		if err != nil {
			return err
		}
	}
	return nil
}
