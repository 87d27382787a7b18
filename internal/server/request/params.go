// Parameters of a request. Each must be known, named once and not empty, because a typing error
// must not get the answer to another question.

package request

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

// Params holds the parameters of one request by name.
type Params map[string]string

// ParseParams parses a raw query. It fails if a name is not in allowed or is repeated, or if a
// value is empty.
func ParseParams(rawQuery string, allowed []string) (Params, error) {
	if rawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, problem.Errorf(problem.KindBadRequest, "", "malformed query: %v", err)
	}
	p := make(Params, len(values))
	for name, all := range values {
		switch {
		case !slices.Contains(allowed, name):
			return nil, UnknownParameter(name, allowed)
		case len(all) > 1:
			return nil, problem.Errorf(problem.KindBadParameter, name, "given %d times; give it once", len(all))
		case all[0] == "":
			return nil, problem.Errorf(problem.KindBadParameter, name, "is empty; leave it out where it is not meant")
		}
		p[name] = all[0]
	}
	return p, nil
}

// Expand replaces names with a prefix, such as ex:age, by their IRIs in the parameters of patterns and
// bounds. prefix returns the IRI of a prefix other than rdf, rdfs and xsd.
func (p Params) Expand(prefix func(name string) (iri string, ok bool)) error {
	text := triple.Text{Prefix: prefix}
	for _, name := range slices.Concat(PatternParams, BoundsParams) {
		value := p[name]
		if !strings.Contains(value, ":") {
			continue
		}
		switch name {
		case "starts":
			// What follows the prefix is only the beginning of a name.
			before, rest, _ := strings.Cut(value, ":")
			if before == "_" || strings.ContainsAny(before, `<"`) {
				continue // no prefix
			}
			if iri, ok := prefix(before); ok {
				p[name] = "<" + iri + rest
			}
		default:
			terms, err := text.Terms(value)
			if err != nil {
				return problem.Errorf(problem.KindBadParameter, name, "%v", err)
			}
			words := make([]string, len(terms))
			for i, t := range terms {
				words[i] = t.String()
			}
			p[name] = strings.Join(words, " ")
		}
	}
	return nil
}

func UnknownParameter(name string, allowed []string) error {
	takes := "this endpoint takes none"
	if len(allowed) > 0 {
		takes = "this endpoint takes " + strings.Join(allowed, ", ")
	}
	return problem.Errorf(problem.KindBadParameter, problem.Clip(name), "unknown parameter; %s", takes)
}

func (p Params) Has(name string) bool { _, ok := p[name]; return ok }

// Term returns the term of a parameter; the zero Term if it is missing.
func (p Params) Term(name string) (triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return triple.Term{}, nil
	}
	t, err := triple.ParseTerm(text)
	if err != nil {
		return t, problem.Errorf(problem.KindBadParameter, name, "%v", err)
	}
	return t, nil
}

// Predicate is Term, but accepts "a" for rdf:type.
func (p Params) Predicate(name string) (triple.Term, error) {
	if p[name] == "a" {
		return triple.NewIRI(triple.RDFType), nil
	}
	return p.Term(name)
}

// Iri returns the IRI of a parameter, with or without its angle brackets; the zero Term if it is
// missing.
func (p Params) Iri(name string) (triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return triple.Term{}, nil
	}
	if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		text = text[1 : len(text)-1]
	}
	if err := triple.CheckIRI(text); err != nil {
		return triple.Term{}, problem.Errorf(problem.KindBadParameter, name, "not an absolute IRI: %v", err)
	}
	return triple.NewIRI(text), nil
}

// Terms returns the terms of a parameter, at most four; nil if it is missing.
func (p Params) Terms(name string) ([]triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return nil, nil
	}
	terms, err := triple.ParseTerms(text)
	switch {
	case err != nil:
		return nil, problem.Errorf(problem.KindBadParameter, name, "%v", err)
	case len(terms) == 0:
		return nil, problem.Errorf(problem.KindBadParameter, name, "is empty; leave it out where it is not meant")
	case len(terms) > 4:
		return nil, problem.Errorf(problem.KindBadParameter, name, "%d terms; an item has at most four", len(terms))
	}
	return terms, nil
}

// Flag returns a parameter, true or false; false if it is missing.
func (p Params) Flag(name string) (bool, error) {
	switch text, ok := p[name]; {
	case !ok || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	default:
		return false, problem.Errorf(problem.KindBadParameter, name, "%q is neither true nor false", problem.Clip(text))
	}
}

// Number returns a number of at least least; 0 if the parameter is missing.
func (p Params) Number(name string, least uint64) (int, error) {
	text, ok := p[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil || n < least {
		return 0, problem.Errorf(problem.KindBadParameter, name, "%q is not a number from %d on", problem.Clip(text), least)
	}
	return int(n), nil
}

var sizeUnits = []struct {
	suffix string
	shift  uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"", 0}}

// Size returns a number of bytes such as 1073741824 or 2GiB; 0 if the parameter is missing.
func (p Params) Size(name string) (int64, error) {
	text, ok := p[name]
	if !ok {
		return 0, nil
	}
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n == 0 || n > (1<<62)>>unit.shift {
			break
		}
		return int64(n) << unit.shift, nil
	}
	return 0, problem.Errorf(problem.KindBadParameter, name, "%q is not a size like 1073741824, 512MiB or 2GiB", problem.Clip(text))
}
