// Patterns and bounds in the parameters of a request.

package request

import (
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

// PatternParams are the parameters of [Params.Pattern].
var PatternParams = []string{"s", "p", "o", "g"}

// BoundsParams are the parameters of [Params.Bounds].
var BoundsParams = []string{"order", "prefix", "ge", "gt", "le", "lt", "starts", "from", "until"}

// Pattern parses s, p, o and g.
func (p Params) Pattern() (pattern triple.Pattern, err error) {
	if pattern.Subject, err = p.Term("s"); err != nil {
		return pattern, err
	}
	if pattern.Predicate, err = p.Predicate("p"); err != nil {
		return pattern, err
	}
	if pattern.Object, err = p.Term("o"); err != nil {
		return pattern, err
	}
	if p["g"] == "default" {
		pattern.DefaultGraph = true
		return pattern, nil
	}
	pattern.Graph, err = p.Term("g")
	return pattern, err
}

// Triple parses s, p, o and g as one triple. Without g it is in the default graph.
func (p Params) Triple() (t triple.Triple, err error) {
	for _, name := range []string{"s", "p", "o"} {
		if !p.Has(name) {
			return t, problem.Errorf(problem.KindBadParameter, name, "is missing: name one triple, with s, p and o")
		}
	}
	pattern, err := p.Pattern()
	t = triple.Triple{Subject: pattern.Subject, Predicate: pattern.Predicate, Object: pattern.Object, Graph: pattern.Graph}
	if err != nil {
		return t, err
	}
	return t, t.Check()
}

// Bounds parses the bounds of a range. It fails if order is missing.
func (p Params) Bounds() (b triple.Bounds, err error) {
	// 1. The order must be given, because bounds mean nothing without it.
	name, ok := p["order"]
	if !ok {
		return b, problem.Errorf(problem.KindBadParameter, "order", "is missing: spo, pos, osp or gspo")
	}
	if b.Order, err = triple.ParseOrder(name); err != nil {
		return b, problem.Errorf(problem.KindBadParameter, "order", "%v", err)
	}
	// 2. Parse the bounds: lists of terms, single terms, and a prefix of a term.
	for _, list := range []struct {
		name string
		into *[]triple.Term
	}{{"prefix", &b.Prefix}, {"from", &b.From}, {"until", &b.Until}} {
		if *list.into, err = p.Terms(list.name); err != nil {
			return b, err
		}
	}
	for _, bound := range []struct {
		name string
		into *triple.Term
	}{{"ge", &b.GE}, {"gt", &b.GT}, {"le", &b.LE}, {"lt", &b.LT}} {
		if *bound.into, err = p.Term(bound.name); err != nil {
			return b, err
		}
	}
	if text, ok := p["starts"]; ok {
		if b.Starts, err = triple.ParseStarts(text); err != nil {
			return b, problem.Errorf(problem.KindBadParameter, "starts", "%v", err)
		}
	}
	return b, nil
}
