package exec

import "github.com/trefoildb/trefoil/triple"

// edges returns for each node those that an edge leads to: of a predicate, or of
// all but those of not.
func (w *walker) edges(from []int32, predicate string, not map[string]bool, forward bool) ([][]int32, error) {
	const node, other = 0, 1 // slots of the look-up
	pat := &pattern{graphs: *w.graphs, not: not}
	for i := range pat.place {
		pat.place[i].slot = -1
	}
	pat.place[triple.Predicate].key = string(appendKeyForm(nil, predicate))
	pat.place[triple.Subject].slot, pat.place[triple.Object].slot = node, other
	if !forward {
		pat.place[triple.Subject].slot, pat.place[triple.Object].slot = other, node
	}
	sub := *w.q
	sub.width = 2
	to := make([][]int32, len(from))
	in, out := newBatch(2), newBatch(2)
	for first := 0; first < len(from); first += lastChunkRows {
		in.clear()
		for i, start := range from[first:min(first+lastChunkRows, len(from))] {
			in.add([]string{w.names[start], ""}, int32(i))
		}
		l := newLookup(&sub, &feedReader{feed: &feed{in}}, pat, w.plan)
		l.chunk = lastChunkRows
		for {
			out.clear()
			if err := l.next(out); err != nil {
				l.close()
				return nil, err
			}
			if out.n == 0 {
				break
			}
			for i := range out.n {
				end, err := w.id(out.row(i)[other])
				if err != nil {
					l.close()
					return nil, err
				}
				at := first + int(out.ord[i])
				to[at] = append(to[at], end)
			}
		}
		l.close()
	}
	return to, nil
}

// nodes returns the subjects and objects of the active graph, each once.
func (w *walker) nodes() ([]int32, error) {
	pat := &pattern{graphs: *w.graphs}
	for i := range pat.place {
		pat.place[i].slot = -1
	}
	pat.place[triple.Subject].slot, pat.place[triple.Object].slot = 0, 1
	sub := *w.q
	sub.width = 2
	l := newLookup(&sub, &unit{}, pat, w.plan)
	defer l.close()
	var list []int32
	met := map[int32]struct{}{}
	out := newBatch(2)
	for {
		out.clear()
		if err := l.next(out); err != nil || out.n == 0 {
			return list, err
		}
		for _, node := range out.cells {
			id, err := w.id(node)
			if err != nil {
				return nil, err
			}
			if _, ok := met[id]; !ok {
				met[id] = struct{}{}
				list = append(list, id)
			}
		}
	}
}

// isNode reports whether a term is a subject or an object of the active graph.
func (w *walker) isNode(term string) (bool, error) {
	for _, position := range []int{triple.Subject, triple.Object} {
		pat := &pattern{graphs: *w.graphs}
		for i := range pat.place {
			pat.place[i].slot = -1
		}
		pat.place[position].slot = 0
		row := []string{term}
		a := pat.access(pat.mask(row))
		ranges, _ := pat.ranges(nil, nil, a, row)
		for _, r := range ranges {
			ok, err := w.q.any(r, func(terms triple.KeyTerms) bool {
				return pat.accept(a, &terms) && (len(a.later) == 0 || string(terms[position]) == string(appendKeyForm(nil, term)))
			})
			if ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}
