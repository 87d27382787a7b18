// The edges of a predicate, and the nodes of a graph.

package path

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/scan"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// edges returns for each node its neighbours by edges: of a predicate, or of all predicates
// outside not.
func (w *Walker) edges(from []int32, predicate string, not map[string]bool, forward bool) ([][]int32, error) {
	// 1. Make a pattern with the node bound and the other end free.
	const node, other = 0, 1 // slots of the look-up
	pat := &pattern.Pattern{Graphs: *w.Graphs, Excluded: not}
	for i := range pat.Places {
		pat.Places[i].Slot = -1
	}
	pat.Places[triple.Predicate].Key = string(solution.AppendKeyForm(nil, predicate))
	pat.Places[triple.Subject].Slot, pat.Places[triple.Object].Slot = node, other
	if !forward {
		pat.Places[triple.Subject].Slot, pat.Places[triple.Object].Slot = other, node
	}
	// 2. The look-up has rows of its own: two slots, whatever the query's variables are.
	sub := *w.Exec
	sub.Width = 2
	to := make([][]int32, len(from))
	in, out := sub.NewBatch(), sub.NewBatch()
	defer in.Free()
	defer out.Free()
	// 3. Look up the nodes, a chunk at a time. The origin of a row is the index of its node.
	for first := 0; first < len(from); first += exec.LastChunkRows {
		in.Clear()
		for i, start := range from[first:min(first+exec.LastChunkRows, len(from))] {
			in.Add([]string{w.term(start), ""}, int32(i))
		}
		l := scan.NewLookup(&sub, &exec.FeedReader{Feed: &exec.Feed{Rows: in}}, pat, w.Plan, scan.FirstRows{Rows: solution.BatchRows, Chunk: exec.LastChunkRows})
		for {
			out.Clear()
			if err := l.Next(out); err != nil {
				l.Close()
				return nil, err
			}
			if out.Len == 0 {
				break
			}
			for i := range out.Len {
				end, err := w.id(out.Row(i)[other])
				if err != nil {
					l.Close()
					return nil, err
				}
				at := first + int(out.Origin[i])
				to[at] = append(to[at], end)
			}
		}
		l.Close()
	}
	return to, nil
}

// nodes returns the subjects and objects of the active graph, each once.
func (w *Walker) nodes() ([]int32, error) {
	var found nodeList
	err := w.addEnds(&found, "", triple.Subject, triple.Object)
	return found.list, err
}

// starts returns all nodes with an edge that can be the first of a path. Others may be among them.
func (w *Walker) starts(p ast.Path) (nodeList, error) {
	found := nodeList{met: map[int32]struct{}{}}
	err := w.addStarts(&found, p, true)
	return found, err
}

// addStarts adds the nodes where a path can begin; if forward is false, where it can end.
func (w *Walker) addStarts(to *nodeList, p ast.Path, forward bool) error {
	switch p := p.(type) {
	case *ast.PathInverse:
		return w.addStarts(to, p.Arg, !forward)
	case *ast.PathRepeat:
		return w.addStarts(to, p.Arg, forward)
	case *ast.PathAlternative:
		for _, part := range p.Parts {
			if err := w.addStarts(to, part, forward); err != nil {
				return err
			}
		}
		return nil
	case *ast.PathSequence:
		// A part without an edge lets the next one begin, too.
		for i := range p.Parts {
			part := p.Parts[i]
			if !forward {
				part = p.Parts[len(p.Parts)-1-i]
			}
			if err := w.addStarts(to, part, forward); err != nil || !Empty(part) {
				return err
			}
		}
		return nil
	case *ast.PathIRI:
		if l := w.lists(p.IRI, forward); l != nil {
			return w.addKeys(to, l)
		}
		position := triple.Subject
		if !forward {
			position = triple.Object
		}
		return w.addEnds(to, solution.KeyOfIRI(p.IRI), position)
	}
	return w.addEnds(to, "", triple.Subject, triple.Object)
}

// nodeList is nodes in the order of arrival, each once.
type nodeList struct {
	list []int32
	met  map[int32]struct{}
}

// add adds a node.
func (l *nodeList) add(id int32) {
	if l.met == nil {
		l.met = map[int32]struct{}{}
	}
	if _, ok := l.met[id]; !ok {
		l.met[id] = struct{}{}
		l.list = append(l.list, id)
	}
}

// addEnds adds the nodes at the positions of all triples with a predicate, in its key form; "" is
// any.
func (w *Walker) addEnds(to *nodeList, predicate string, positions ...int) error {
	// 1. Scan the triples, with rows of as many slots as positions.
	pat := &pattern.Pattern{Graphs: *w.Graphs}
	for i := range pat.Places {
		pat.Places[i].Slot = -1
	}
	pat.Places[triple.Predicate].Key = predicate
	for slot, position := range positions {
		pat.Places[position].Slot = slot
	}
	sub := *w.Exec
	sub.Width = len(positions)
	l := scan.NewLookup(&sub, &exec.Unit{}, pat, w.Plan, scan.FirstRows{Rows: solution.BatchRows, Chunk: 1})
	defer l.Close()
	out := sub.NewBatch()
	defer out.Free()
	// 2. Number the nodes, and keep new ones.
	for {
		out.Clear()
		if err := l.Next(out); err != nil || out.Len == 0 {
			return err
		}
		for _, node := range out.Cells {
			// A term must have one number only, because searches compare numbers.
			id, err := w.id(node)
			if err != nil {
				return err
			}
			to.add(id)
		}
	}
}

// isNode reports whether a node is a subject or an object of the active graph.
func (w *Walker) isNode(id int32) (bool, error) {
	// A node with a number has a triple, unless it is of a predicate that has changed.
	if _, ok := solution.Number(w.names[id]); ok && w.complete() {
		return true, nil
	}
	term := w.term(id)
	for _, position := range []int{triple.Subject, triple.Object} {
		pat := &pattern.Pattern{Graphs: *w.Graphs}
		for i := range pat.Places {
			pat.Places[i].Slot = -1
		}
		pat.Places[position].Slot = 0
		row := []string{term}
		a := pat.Access(pat.Mask(row))
		ranges, _ := pat.Ranges(nil, nil, a, row)
		for _, r := range ranges {
			ok, err := w.Exec.HasRow(r, func(terms triple.KeyTerms) bool {
				return pat.Accept(a, &terms) && (len(a.Checked) == 0 || string(terms[position]) == string(solution.AppendKeyForm(nil, term)))
			})
			if ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}
