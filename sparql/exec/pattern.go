package exec

import (
	"bytes"

	"github.com/trefoildb/trefoil/triple"
)

// place is what stands at a position of a pattern: a term in its key form, or a
// variable where slot is not negative; neither is a wildcard.
type place struct {
	slot int
	key  string
}

// span is a range of terms in their key form: lo <= term < hi.
type span struct{ lo, hi []byte }

// pattern is a triple pattern over its active graph.
type pattern struct {
	place  [4]place // subject, predicate, object, graph
	graphs graphs
	not    map[string]bool // key forms of predicates that do not match
	// spans restrict variables to ranges of terms, by slot: ascending and disjoint.
	// A restricted variable is tested again by its filter.
	spans map[int]restriction
	order triple.Order // forced for a scan of rows in its sequence; 0 for the best
}

// access is how the rows of one mask of bound positions are read.
type access struct {
	mask   uint8 // positions that are bound, 1<<position
	order  triple.Order
	prefix int    // leading positions of the order that the range fixes
	spans  []span // of the position after them; nil for all
	later  []int  // positions that are bound by variables, behind the prefix
	consts []int  // positions that are bound by terms, behind the prefix
	free   []int  // positions of unbound variables
	same   [][2]int
}

// mask returns the positions that are bound in a row.
func (p *pattern) mask(row []string) uint8 {
	var mask uint8
	for position, at := range p.place {
		if at.key != "" || at.slot >= 0 && row[at.slot] != "" {
			mask |= 1 << position
		}
	}
	if p.graphs.mode == oneGraph {
		mask |= 1 << triple.Graph
	}
	return mask
}

func (p *pattern) restricted(position int) []span {
	at := p.place[position]
	if at.slot < 0 || position == triple.Graph {
		return nil
	}
	r := p.spans[at.slot]
	if r.nodesOnly && position == triple.Object {
		return nil
	}
	return r.spans
}

// best returns the order that reads least for a mask.
func (p *pattern) best(mask uint8) triple.Order {
	s, pr, o, g := mask&1 != 0, mask&2 != 0, mask&4 != 0, mask&8 != 0
	rs, rp, ro := p.restricted(triple.Subject) != nil && !s, p.restricted(triple.Predicate) != nil && !pr, p.restricted(triple.Object) != nil && !o
	if g {
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
	case p.graphs.mode == eachGraph:
		return triple.GSPO
	}
	return triple.SPO
}

func (p *pattern) access(mask uint8) *access {
	a := &access{mask: mask, order: p.order}
	if a.order == 0 {
		a.order = p.best(mask)
	}
	positions := a.order.Positions()
	for a.prefix < 4 && mask&(1<<positions[a.prefix]) != 0 {
		a.prefix++
	}
	if a.prefix < 4 {
		a.spans = p.restricted(positions[a.prefix])
	}
	for i, position := range positions {
		at := p.place[position]
		switch {
		case mask&(1<<position) == 0:
			if at.slot >= 0 {
				a.free = append(a.free, position)
			}
		case i < a.prefix:
		case at.slot >= 0:
			a.later = append(a.later, position)
		case at.key != "":
			a.consts = append(a.consts, position)
		}
	}
	for i, x := range a.free {
		for _, y := range a.free[:i] {
			if p.place[x].slot == p.place[y].slot {
				a.same = append(a.same, [2]int{x, y})
			}
		}
	}
	return a
}

// ranges appends the ranges of keys that hold what matches a row. They lie in
// keys, which is returned grown.
func (p *pattern) ranges(dst []triple.Range, keys []byte, a *access, row []string) ([]triple.Range, []byte) {
	if a.prefix == 0 && a.spans == nil {
		return append(dst, triple.OrderRange(a.order)), keys
	}
	positions := a.order.Positions()
	start := len(keys)
	keys = append(keys, byte(a.order))
	for i := range a.prefix {
		if i > 0 {
			keys = append(keys, 0, 1)
		}
		keys = p.appendKey(keys, positions[i], row)
	}
	if a.spans != nil {
		if a.prefix > 0 {
			keys = append(keys, 0, 1)
		}
		prefix := len(keys)
		for _, s := range a.spans {
			from := len(keys)
			keys = append(append(keys, keys[start:prefix]...), s.lo...)
			to := len(keys)
			keys = append(append(keys, keys[start:prefix]...), s.hi...)
			dst = append(dst, triple.Range{Lo: keys[from:to:to], Hi: keys[to:len(keys):len(keys)]})
		}
		return dst, keys
	}
	last := a.prefix == 4 || a.prefix == 3 && a.order != triple.GSPO
	bare := len(keys)
	if !last {
		keys = append(keys, 0, 1)
	}
	lo := keys[start:len(keys):len(keys)]
	from := len(keys)
	keys = append(append(keys, keys[start:bare]...), 0)
	if !last || a.prefix == 4 || p.graphs.mode != defaultGraph {
		keys = append(keys, 2)
	}
	return append(dst, triple.Range{Lo: lo, Hi: keys[from:len(keys):len(keys)]}), keys
}

func (p *pattern) appendKey(dst []byte, position int, row []string) []byte {
	at := p.place[position]
	switch {
	case position == triple.Graph && p.graphs.mode == oneGraph:
		return append(dst, *p.graphs.name...)
	case at.key != "":
		return append(dst, at.key...)
	}
	return appendKeyForm(dst, row[at.slot])
}

// accept reports whether a row of the store matches, but for positions that are
// bound by variables.
func (p *pattern) accept(a *access, terms *triple.KeyTerms) bool {
	if !p.graphs.accept(terms[triple.Graph]) {
		return false
	}
	if p.not != nil && p.not[string(terms[triple.Predicate])] {
		return false
	}
	for _, position := range a.consts {
		if string(terms[position]) != p.place[position].key {
			return false
		}
	}
	for _, pair := range a.same {
		if !bytes.Equal(terms[pair[0]], terms[pair[1]]) {
			return false
		}
	}
	return true
}

// reader turns rows of the store into bindings.
type reader struct {
	q    *query
	pat  *pattern
	last [4]string // bindings of the row before, which the next one often shares
	spo  []byte    // key of the triple before, without its graph
}

// read returns the bindings of a row of the store at the free and later
// positions of a; ok is false where it does not match.
func (r *reader) read(a *access, key, value []byte) (found [4]string, ok bool, err error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return found, false, err
	}
	if !r.pat.accept(a, &terms) {
		return found, false, nil
	}
	if r.pat.graphs.merged() {
		bare := bareKey(key, &terms)
		if bytes.Equal(bare, r.spo) {
			return found, false, nil
		}
		r.spo = append(r.spo[:0], bare...)
	}
	whole, err := triple.WholeTerms(terms, value)
	if err != nil {
		return found, false, err
	}
	for _, list := range [2][]int{a.free, a.later} {
		for _, position := range list {
			if r.last[position] != string(whole[position]) {
				r.last[position] = r.q.arena.keep(whole[position])
			}
			found[position] = r.last[position]
		}
	}
	return found, true, nil
}

// bareKey returns a key without its graph, which stands last.
func bareKey(key []byte, terms *triple.KeyTerms) []byte {
	if g := terms[triple.Graph]; len(g) > 0 {
		return key[:len(key)-len(g)-2]
	}
	return key
}

// extend appends row with what was found to out, unless they contradict.
func (r *reader) extend(a *access, out *batch, row []string, ord int32, found *[4]string) {
	for _, position := range a.later {
		if row[r.pat.place[position].slot] != found[position] {
			return
		}
	}
	next := out.add(row, ord)
	for _, position := range a.free {
		next[r.pat.place[position].slot] = found[position]
		out.weigh(found[position])
	}
}
