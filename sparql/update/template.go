// Templates filled with solutions.

package update

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// template is a triple of a template, by position.
type template [4]place

// place is one position of a template: a constant, a variable by its index among those of the
// templates, or a blank node by the index of its label.
type place struct {
	kind  placeKind
	index int
	bound bound
}

type placeKind uint8

const (
	constant placeKind = iota // the zero bound is the default graph
	ofVariable
	ofLabel
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

// fits reports whether the term may stand at a position (RDF 1.1, section 3.1).
func (b *bound) fits(position int) bool {
	switch b.kind {
	case triple.IRI:
		return true
	case triple.Blank:
		return position != triple.Predicate
	case triple.Literal:
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
		ok := true
		for position, v := range [4]algebra.VarOrTerm{t.Subject, t.Predicate, t.Object, t.Graph} {
			p := &made[position]
			// Blank nodes of a template stand for new ones, and cannot be predicates.
			switch {
			case v.IsVar():
				*p = place{kind: ofVariable, index: v.Slot}
			case v.Term.Kind() == triple.Blank:
				index, known := labels[v.Term.Value()]
				if !known {
					index = len(labels)
					labels[v.Term.Value()] = index
				}
				*p = place{kind: ofLabel, index: index}
				ok = ok && position != triple.Predicate
			default:
				p.bound = boundOf(v.Term)
				ok = ok && p.bound.fits(position) && (v.Term.IsZero() || v.Term.Check() == nil)
			}
		}
		if ok { // an ill-placed constant never makes a triple
			out = append(out, made)
		}
	}
	return out
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
			for _, p := range t {
				if p.kind == ofVariable && !slices.Contains(slots, p.index) {
					slots = append(slots, p.index)
				}
			}
		}
	}
	f.bySlot = make([]int, f.modify.body.Scope.Len())
	for i, slot := range slots {
		f.bySlot[slot] = i
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
		default:
			v.kind = triple.Literal
		}
	}
	return nil
}

// maybeLong is a size in bytes. If a whole encoded term is at most as long, it is its own form
// in keys.
const maybeLong = 1024

var iriTag = boundOf(triple.NewIRI("x:")).key[0]

// fill fills a template into f.quad. It is false if a variable is unbound or a
// term is out of its place (section 3.1.3): such a triple is left out.
func (f *filler) fill(t *template) (bool, error) {
	var whole [4][]byte
	long := false
	for position := range t {
		p := &t[position]
		b := &p.bound
		// 1. Each position has a term of the template, of the solution, or a new blank node.
		switch p.kind {
		case ofVariable:
			b = &f.vars[f.bySlot[p.index]].bound
			if b.kind == triple.None || !b.fits(position) {
				return false, nil
			}
		case ofLabel:
			b = &f.labels[p.index]
			if b.kind == triple.None {
				node, err := f.run.blanks.next()
				if err != nil {
					return false, err
				}
				*b = boundOf(node)
			}
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
