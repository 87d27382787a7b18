// Parameters of a request: each named once, all of them known, none empty, so
// that a slip of the pen is an error and never another question's answer.

package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// params holds the parameters of one request by name.
type params map[string]string

// parseParams reads a raw query of which only the allowed names may be part.
func parseParams(rawQuery string, allowed []string) (params, error) {
	if rawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, errorf(KindBadRequest, "", "malformed query: %v", err)
	}
	p := make(params, len(values))
	for name, all := range values {
		switch {
		case !slices.Contains(allowed, name):
			return nil, unknownParameter(name, allowed)
		case len(all) > 1:
			return nil, errorf(KindBadParameter, name, "given %d times; give it once", len(all))
		case all[0] == "":
			return nil, errorf(KindBadParameter, name, "is empty; leave it out where it is not meant")
		}
		p[name] = all[0]
	}
	return p, nil
}

func unknownParameter(name string, allowed []string) error {
	takes := "this endpoint takes none"
	if len(allowed) > 0 {
		takes = "this endpoint takes " + strings.Join(allowed, ", ")
	}
	return errorf(KindBadParameter, clip(name), "unknown parameter; %s", takes)
}

func (p params) has(name string) bool { _, ok := p[name]; return ok }

// term returns the term of a parameter, the zero Term where it is absent.
func (p params) term(name string) (triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return triple.Term{}, nil
	}
	t, err := triple.ParseTerm(text)
	if err != nil {
		return t, errorf(KindBadParameter, name, "%v", err)
	}
	return t, nil
}

// predicate is term, and takes a for rdf:type.
func (p params) predicate(name string) (triple.Term, error) {
	if p[name] == "a" {
		return triple.NewIRI(triple.RDFType), nil
	}
	return p.term(name)
}

// iri returns the IRI of a parameter, with or without its angle brackets.
func (p params) iri(name string) (triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return triple.Term{}, nil
	}
	if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		text = text[1 : len(text)-1]
	}
	if err := triple.CheckIRI(text); err != nil {
		return triple.Term{}, errorf(KindBadParameter, name, "not an absolute IRI: %v", err)
	}
	return triple.NewIRI(text), nil
}

// terms returns the terms of a parameter, at most four.
func (p params) terms(name string) ([]triple.Term, error) {
	text, ok := p[name]
	if !ok {
		return nil, nil
	}
	terms, err := triple.ParseTerms(text)
	switch {
	case err != nil:
		return nil, errorf(KindBadParameter, name, "%v", err)
	case len(terms) == 0:
		return nil, errorf(KindBadParameter, name, "is empty; leave it out where it is not meant")
	case len(terms) > 4:
		return nil, errorf(KindBadParameter, name, "%d terms; an item has at most four", len(terms))
	}
	return terms, nil
}

// flag returns a parameter that is true or false; false where it is absent.
func (p params) flag(name string) (bool, error) {
	switch text, ok := p[name]; {
	case !ok || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	default:
		return false, errorf(KindBadParameter, name, "%q is neither true nor false", clip(text))
	}
}

// number returns a positive number, 0 where the parameter is absent.
func (p params) number(name string) (int, error) {
	text, ok := p[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil || n == 0 {
		return 0, errorf(KindBadParameter, name, "%q is not a number from 1 on", clip(text))
	}
	return int(n), nil
}

var sizeUnits = []struct {
	suffix string
	shift  uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"", 0}}

// size returns a number of bytes such as 1073741824 or 2GiB, 0 where the
// parameter is absent.
func (p params) size(name string) (int64, error) {
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
	return 0, errorf(KindBadParameter, name, "%q is not a size like 1073741824, 512MiB or 2GiB", clip(text))
}

// clip shortens text of the client's for a message.
func clip(text string) string { return clipAt(text, 80) }

func clipAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
