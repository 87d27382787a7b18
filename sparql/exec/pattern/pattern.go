// Patterns, and their orders and ranges.

package pattern

import (
	"bytes"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Place is one position of a pattern: a term in its key form, or a variable if slot is not
// negative. If it is neither, it is a wildcard.
type Place struct {
	Slot int
	Key  string
}

// Span is a range of terms in their key form: lo <= term < hi.
type Span struct{ Lo, Hi []byte }

// Pattern is a triple pattern over its active graph.
type Pattern struct {
	Places   [4]Place // subject, predicate, object, graph
	Graphs   Graphs
	Excluded map[string]bool // key forms of excluded predicates
	// Restrictions restrict variables to ranges of terms, by slot: ascending and disjoint.
	// A restricted variable is tested again by its filter.
	Restrictions map[int]Restriction
	Order        triple.Order // forced for a scan of rows in its sequence; 0 for the best
	// Narrow returns the range of the object for a row, within its restriction; nil if it is always the
	// restriction itself. It holds for the object only, whose variable must have a restriction.
	Narrow func(row []string) Span
}

// Restriction is a set of key ranges. If a filter may pass a term of the variable, one of them
// must have it.
type Restriction struct {
	Spans     []Span // ascending and disjoint; nil means that nothing is known
	NodesOnly bool   // they do not hold for objects
	// Candidates says, for EXPLAIN, from where the ranges are if an index has found them; else "".
	Candidates string
	// Contains is what the text of a term must contain, for an index; nil if nothing is known.
	Contains *expr.Substrings
}

// manySpans is a number of ranges. If a variable has more of them, and the subject and the predicate are bound, all
// objects are read, because they are few.
const manySpans = 16

// IsMany reports whether the rows of a scan are in many ranges, so they are looked up together.
func (a *Access) IsMany() bool { return len(a.Spans) > manySpans }

// Access is how the rows of one mask of bound positions are read.
type Access struct {
	Mask    uint8 // positions bound, 1<<position
	Order   triple.Order
	Prefix  int    // leading positions of the order, fixed by the range
	Spans   []Span // of the position after them; nil for all
	Checked []int  // positions bound by variables, behind the prefix
	Consts  []int  // positions bound by terms, behind the prefix
	Free    []int  // positions of unbound variables
	Same    [][2]int
}

// Mask returns the positions bound in a row.
func (p *Pattern) Mask(row []string) uint8 {
	var mask uint8
	for position, at := range p.Places {
		if at.Key != "" || at.Slot >= 0 && row[at.Slot] != "" {
			mask |= 1 << position
		}
	}
	if p.Graphs.Mode == OneGraph {
		mask |= 1 << triple.Graph
	}
	return mask
}

// Restricted returns the spans of the variable at a position; nil if any term may match.
func (p *Pattern) Restricted(position int) []Span {
	at := p.Places[position]
	if at.Slot < 0 || position == triple.Graph {
		return nil
	}
	r := p.Restrictions[at.Slot]
	if r.NodesOnly && position == triple.Object {
		return nil
	}
	return r.Spans
}

// Best returns the order with the fewest reads for a mask.
func (p *Pattern) Best(mask uint8) triple.Order {
	s, pr, o, g := mask&1 != 0, mask&2 != 0, mask&4 != 0, mask&8 != 0
	rs, rp, ro := p.Restricted(triple.Subject) != nil && !s, p.Restricted(triple.Predicate) != nil && !pr, p.Restricted(triple.Object) != nil && !o
	// If the graph is bound, GSPO is best, unless the bound positions lead another order.
	if g {
		// The best order has the bound positions in front, then a restricted one.
		switch {
		case o && !pr:
			return triple.OSP
		case o && !s:
			return triple.POS
		case pr && !s && ro:
			return triple.POS
		}
		return triple.GSPO
	}
	switch {
	case s && (pr || !o):
		return triple.SPO
	case o && !pr:
		return triple.OSP
	case pr:
		return triple.POS
	case ro:
		return triple.OSP
	case rs:
		return triple.SPO
	case rp:
		return triple.POS
	case p.Graphs.Mode == EachGraph:
		return triple.GSPO
	}
	return triple.SPO
}

// Access returns how rows are read if the positions of mask are bound.
func (p *Pattern) Access(mask uint8) *Access {
	a := &Access{Mask: mask, Order: p.Order}
	if a.Order == 0 {
		a.Order = p.Best(mask)
	}
	positions := a.Order.Positions()
	// 1. Bound positions at the front of the order make the prefix of the range.
	for a.Prefix < 4 && mask&(1<<positions[a.Prefix]) != 0 {
		a.Prefix++
	}
	if a.Prefix < 4 {
		a.Spans = p.Restricted(positions[a.Prefix])
		if a.IsMany() && positions[a.Prefix] == triple.Object && mask&(1<<triple.Subject) != 0 {
			a.Spans = nil
		}
	}
	// 2. All other positions are bound by rows read, or tested against them.
	for i, position := range positions {
		at := p.Places[position]
		switch {
		case mask&(1<<position) == 0:
			if at.Slot >= 0 {
				a.Free = append(a.Free, position)
			}
		case i < a.Prefix:
		case at.Slot >= 0:
			a.Checked = append(a.Checked, position)
		case at.Key != "":
			a.Consts = append(a.Consts, position)
		}
	}
	// 3. If a variable stands at two free positions, their terms must be equal.
	for i, x := range a.Free {
		for _, y := range a.Free[:i] {
			if p.Places[x].Slot == p.Places[y].Slot {
				a.Same = append(a.Same, [2]int{x, y})
			}
		}
	}
	return a
}

// Ranges appends the ranges of keys with the matches of a row. Their bytes are appended to
// keys; the caller must use the returned slice from then on.
func (p *Pattern) Ranges(dst []triple.Range, keys []byte, a *Access, row []string) ([]triple.Range, []byte) {
	if a.Prefix == 0 && a.Spans == nil {
		return append(dst, triple.OrderRange(a.Order)), keys
	}
	// 1. The prefix has the terms of the bound positions.
	positions := a.Order.Positions()
	start := len(keys)
	keys = append(keys, byte(a.Order))
	for i := range a.Prefix {
		if i > 0 {
			keys = append(keys, 0, 1)
		}
		keys = p.appendKey(keys, positions[i], row)
	}
	// 2. A restricted position makes one range for each span.
	if a.Spans != nil {
		if a.Prefix > 0 {
			keys = append(keys, 0, 1)
		}
		prefix := len(keys)
		spans := a.Spans
		if p.Narrow != nil && positions[a.Prefix] == triple.Object {
			spans = []Span{p.Narrow(row)}
		}
		for _, s := range spans {
			from := len(keys)
			keys = append(append(keys, keys[start:prefix]...), s.Lo...)
			to := len(keys)
			keys = append(append(keys, keys[start:prefix]...), s.Hi...)
			dst = append(dst, triple.Range{Lo: keys[from:to:to], Hi: keys[to:len(keys):len(keys)]})
		}
		return dst, keys
	}
	// 3. Without one, the range ends behind all keys with the prefix. In the default graph a full
	// triple has no graph behind it.
	last := a.Prefix == 4 || a.Prefix == 3 && a.Order != triple.GSPO
	bare := len(keys)
	if !last {
		keys = append(keys, 0, 1)
	}
	lo := keys[start:len(keys):len(keys)]
	from := len(keys)
	keys = append(append(keys, keys[start:bare]...), 0)
	if !last || a.Prefix == 4 || p.Graphs.Mode != DefaultGraph {
		keys = append(keys, 2)
	}
	return append(dst, triple.Range{Lo: lo, Hi: keys[from:len(keys):len(keys)]}), keys
}

func (p *Pattern) appendKey(dst []byte, position int, row []string) []byte {
	at := p.Places[position]
	switch {
	case position == triple.Graph && p.Graphs.Mode == OneGraph:
		return append(dst, *p.Graphs.Name...)
	case at.Key != "":
		return append(dst, at.Key...)
	}
	return solution.AppendKeyForm(dst, row[at.Slot])
}

// Accept reports whether a row of the store matches. It does not check positions bound by
// variables.
func (p *Pattern) Accept(a *Access, terms *triple.KeyTerms) bool {
	if !p.Graphs.accept(terms[triple.Graph]) {
		return false
	}
	if p.Excluded != nil && p.Excluded[string(terms[triple.Predicate])] {
		return false
	}
	for _, position := range a.Consts {
		if string(terms[position]) != p.Places[position].Key {
			return false
		}
	}
	for _, pair := range a.Same {
		if !bytes.Equal(terms[pair[0]], terms[pair[1]]) {
			return false
		}
	}
	return true
}
