// Templates filled with solutions.

package update

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// template is a triple of a template, by position.
type template [4]place

// place is one position of a template: a constant, a variable by its index among those of the
// templates, a blank node by the index of its label, or a triple term of other places.
type place struct {
	kind  placeKind
	index int
	bound bound
	inner *[3]place
}

type placeKind uint8

const (
	constant placeKind = iota // the zero bound is the default graph
	ofVariable
	ofLabel
	ofTriple
)

// bound is a term in the forms of rows.
type bound struct {
	kind  triple.Kind
	key   []byte // in keys
	whole []byte // of a long term; nil else
}

func boundOf(t triple.Term) bound {
	b := bound{kind: t.Kind()}
	var long bool
	if b.key, long = triple.AppendTerm(nil, t); long {
		b.whole = triple.AppendWholeTerm(nil, t)
	}
	return b
}

// term returns the term; the zero Term of the zero bound.
func (b *bound) term() (triple.Term, error) {
	switch {
	case b.kind == triple.None:
		return triple.Term{}, nil
	case b.whole != nil:
		return triple.DecodeTerm(b.whole)
	}
	return triple.DecodeTerm(b.key)
}

// fits reports whether the term may stand at a position (RDF 1.2 Concepts, section 3.1).
func (b *bound) fits(position int) bool {
	switch b.kind {
	case triple.IRI:
		return true
	case triple.Blank:
		return position != triple.Predicate
	case triple.Literal, triple.TripleTerm:
		return position == triple.Object
	}
	return position == triple.Graph
}

// templates translates triples. Variables keep their slots for the moment: a
// filler has them by slot.
func templates(from []algebra.TemplateTriple, with triple.Term, labels map[string]int) []template {
	var out []template
	for _, t := range from {
		// If a triple names no graph, it goes to the one of WITH.
		if t.Graph.Term.IsZero() && !t.Graph.IsVar() {
			t.Graph.Term = with
		}
		var made template
		ok := placesOf(made[:triple.Graph], &t, labels)
		made[triple.Graph], ok = placeOf(t.Graph, triple.Graph, labels, ok)
		if ok { // an ill-placed constant never makes a triple
			out = append(out, made)
		}
	}
	return out
}

// placesOf sets the subject, predicate and object of a template. It returns false if they never make a
// triple.
func placesOf(places []place, t *algebra.TemplateTriple, labels map[string]int) bool {
	ok := true
	places[triple.Subject], ok = placeOf(t.Subject, triple.Subject, labels, ok)
	places[triple.Predicate], ok = placeOf(t.Predicate, triple.Predicate, labels, ok)
	if t.Inner == nil {
		places[triple.Object], ok = placeOf(t.Object, triple.Object, labels, ok)
		return ok
	}
	inner := &[3]place{}
	places[triple.Object] = place{kind: ofTriple, inner: inner}
	return placesOf(inner[:], t.Inner, labels) && ok
}

// placeOf returns a place of a template. The result is false if ok is, or if the term may not stand there.
func placeOf(v algebra.VarOrTerm, position int, labels map[string]int, ok bool) (place, bool) {
	// Blank nodes of a template stand for new ones, and cannot be predicates.
	switch {
	case v.IsVar():
		return place{kind: ofVariable, index: v.Slot}, ok
	case v.Term.Kind() == triple.Blank:
		index, known := labels[v.Term.Value()]
		if !known {
			index = len(labels)
			labels[v.Term.Value()] = index
		}
		return place{kind: ofLabel, index: index}, ok && position != triple.Predicate
	}
	p := place{bound: boundOf(v.Term)}
	return p, ok && p.bound.fits(position) && (v.Term.IsZero() || v.Term.Check() == nil)
}

// filler fills templates with one solution after another.
type filler struct {
	modify   *modify
	run      *run
	solution *exec.Run
	vars     []variable // those of the templates, by slot
	bySlot   []int      // index in vars
	labels   []bound    // this solution's blank nodes; those not made yet are zero
	quad     quad
}

// variable is the term of a variable in the current solution; the zero bound if it has none of
// RDF.
type variable struct {
	bound
	slot    int
	binding string
}

// slots returns the variables of all templates.
func (f *filler) slots() []int {
	var slots []int
	for _, list := range [][]template{f.modify.deletes, f.modify.inserts} {
		for _, t := range list {
			slots = appendSlots(slots, t[:])
		}
	}
	f.bySlot = make([]int, f.modify.body.Scope.Len())
	for i, slot := range slots {
		f.bySlot[slot] = i
	}
	return slots
}

func appendSlots(slots []int, places []place) []int {
	for _, p := range places {
		switch {
		case p.kind == ofTriple:
			slots = appendSlots(slots, p.inner[:])
		case p.kind == ofVariable && !slices.Contains(slots, p.index):
			slots = append(slots, p.index)
		}
	}
	return slots
}

// solve takes the terms of the next solution.
func (f *filler) solve() error {
	clear(f.labels)
	for i := range f.vars {
		v := &f.vars[i]
		binding := f.solution.Binding(v.slot)
		// Neighbours often share bindings, so a binding is decoded only if it is new.
		if binding == v.binding {
			continue
		}
		v.binding = binding
		v.bound = bound{}
		if binding == "" {
			continue
		}
		// If a term may be computed or is long, it must be checked and made anew.
		if f.modify.computed || len(binding) > maybeLong {
			t, err := triple.DecodeTerm([]byte(binding))
			if err != nil {
				return err
			}
			if t.Check() == nil {
				v.bound = boundOf(t)
			}
			continue
		}
		// All others came from the store as they are.
		v.key = []byte(binding)
		switch tag := binding[0]; {
		case tag == triple.BlankTag:
			v.kind = triple.Blank
		case tag == iriTag:
			v.kind = triple.IRI
		case tag == tripleTag:
			v.kind = triple.TripleTerm
		default:
			v.kind = triple.Literal
		}
	}
	return nil
}

// maybeLong is a size in bytes. If a whole encoded term is at most as long, it is its own form
// in keys.
const maybeLong = 1024

var (
	iriTag    = boundOf(triple.NewIRI("x:")).key[0]
	tripleTag = boundOf(triple.NewTripleTerm(triple.NewIRI("x:"), triple.NewIRI("x:"), triple.NewIRI("x:"))).key[0]
)

// fill fills a template into f.quad. It is false if a variable is unbound or a
// term is out of its place (section 3.1.3): such a triple is left out.
func (f *filler) fill(t *template) (bool, error) {
	var whole [4][]byte
	long := false
	for position := range t {
		// 1. Each position has a term of the template, of the solution, or a new one.
		b, err := f.boundOf(&t[position])
		if err != nil {
			return false, err
		}
		if t[position].kind != constant && (b.kind == triple.None || !b.fits(position)) {
			return false, nil
		}
		f.quad.terms[position] = b.key
		if b.whole != nil {
			whole[position], long = b.whole, true
		}
	}
	// 2. Long terms stand in the value, whole.
	f.quad.value = plainValue
	if long {
		value := triple.Value{Long: whole}
		f.quad.value = string(value.Append(nil))
	}
	return true, nil
}

// boundOf returns the term of a place for the solution; the zero bound if there is none.
func (f *filler) boundOf(p *place) (*bound, error) {
	switch p.kind {
	case ofVariable:
		return &f.vars[f.bySlot[p.index]].bound, nil
	case ofLabel:
		b := &f.labels[p.index]
		if b.kind == triple.None {
			node, err := f.run.blanks.next()
			if err != nil {
				return nil, err
			}
			*b = boundOf(node)
		}
		return b, nil
	case ofTriple:
		return f.tripleOf(p.inner)
	}
	return &p.bound, nil
}

// tripleOf returns a triple term of places; the zero bound if a term is missing or out of its place.
func (f *filler) tripleOf(places *[3]place) (*bound, error) {
	var terms [3]triple.Term
	for position := range places {
		b, err := f.boundOf(&places[position])
		if err != nil || b.kind == triple.None || !b.fits(position) {
			return &bound{}, err
		}
		if terms[position], err = b.term(); err != nil {
			return &bound{}, err
		}
	}
	t := triple.NewTripleTerm(terms[triple.Subject], terms[triple.Predicate], terms[triple.Object])
	if err := t.CheckNesting(); err != nil {
		return nil, fmt.Errorf("%w: a template: %w", expr.ErrLimit, err)
	}
	if t.Check() != nil { // it is too long
		return &bound{}, nil
	}
	b := boundOf(t)
	return &b, nil
}
