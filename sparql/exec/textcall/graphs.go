// The graphs in which hits are documents.

package textcall

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// entry is a hit in a graph.
type entry struct {
	exec.TextHit
	graph string // its binding; "" if the graph is not wanted
}

// graphFinder finds out in which of some graphs hits are documents: which have a triple with a predicate of the hit and
// its literal. The text index has no graphs, so this is a join with rows.
type graphFinder struct {
	exec    *exec.Execution
	pattern *pattern.Pattern
	access  *pattern.Access
	reader  pattern.Reader
	iris    map[string]string // bindings of predicates
	holder  *memory.Holder
}

// place is a hit and a graph.
type place struct {
	hit   int
	graph string
}

// Slots of the pattern of a finder.
const (
	slotPredicate = iota
	slotLiteral
	slotGraph
)

// newGraphFinder returns a finder for graphs. If named is set, entries have the names of graphs.
func newGraphFinder(q *exec.Execution, g pattern.Graphs, named bool, holder *memory.Holder) *graphFinder {
	f := &graphFinder{exec: q, iris: map[string]string{}, holder: holder}
	f.pattern = &pattern.Pattern{Order: triple.POS, Graphs: g}
	f.pattern.Places = [4]pattern.Place{{Slot: -1}, {Slot: slotPredicate}, {Slot: slotLiteral}, {Slot: -1}}
	if named {
		f.pattern.Places[triple.Graph].Slot = slotGraph
	}
	f.access = f.pattern.Access(1<<triple.Predicate | 1<<triple.Object)
	f.reader = q.NewReader(f.pattern)
	return f
}

// find returns the entries of some hits, in their order. It reads all rows with the literals, in one look-up.
func (f *graphFinder) find(hits []exec.TextHit) ([]entry, error) {
	// 1. The ranges of keys, in their order.
	type requested struct {
		r   triple.Range
		hit int
	}
	var all []requested
	for i := range hits {
		for _, p := range hits[i].Predicates {
			if f.iris[p] == "" {
				f.iris[p] = solution.Encode(triple.NewIRI(p))
			}
			ranges, _ := f.pattern.Ranges(nil, nil, f.access, []string{f.iris[p], hits[i].Literal, ""})
			all = append(all, requested{ranges[0], i})
		}
	}
	slices.SortFunc(all, func(a, b requested) int { return cmp.Or(bytes.Compare(a.r.Lo, b.r.Lo), cmp.Compare(a.hit, b.hit)) })
	ranges := make([]triple.Range, len(all))
	for i := range all {
		ranges[i] = all[i].r
	}
	// 2. The graphs of their rows.
	graphs, known := make([][]string, len(hits)), map[place]bool{}
	last, reads := -1, 0
	err := f.exec.Source.Lookup(f.exec.Ctx, ranges, func(i int, key, value []byte) error {
		if reads++; reads%solution.BatchRows == 0 {
			if err := f.exec.Check(); err != nil {
				return err
			}
		}
		if i != last {
			last = i
			f.reader.BeginRange()
		}
		found, ok, err := f.reader.Read(f.access, key, value)
		at := place{all[i].hit, found[triple.Graph]}
		if err != nil || !ok || known[at] {
			return err
		}
		known[at] = true
		graphs[at.hit] = append(graphs[at.hit], at.graph)
		return f.holder.Grow(len(at.graph) + hitBytes)
	})
	f.holder.Plan.AddReads(reads)
	if err != nil {
		return nil, err
	}
	// 3. An entry for each of them.
	var list []entry
	for i := range hits {
		for _, g := range graphs[i] {
			list = append(list, entry{hits[i], g})
		}
	}
	return list, nil
}
