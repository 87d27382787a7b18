package exec

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// path joins its input with the pairs of nodes that a repeated path connects
// (section 18.4: ZeroOrOnePath, ZeroOrMorePath and OneOrMorePath). A pair comes
// once, however many ways connect it.
//
// Where an end is bound, the nodes reached from it are found level by level, each
// level in one look-up. Where none is, every node of the graph is a start.
type path struct {
	q       *query
	in      operator
	subject place
	object  place
	repeat  *ast.PathRepeat
	graphs  graphs
	seeded  map[int]bool // variables that stand for terms: they need not be in the graph
	plan    *Plan
	holder

	walk  walker
	input *batch
	at    int
	// Of the input's row at: the starts that are left, the ends of the first.
	begun   bool
	forward bool
	starts  []string
	ends    []string
	start   string
}

func (p *path) next(out *batch) error {
	for {
		if err := p.q.check(); err != nil {
			return err
		}
		if p.at >= p.input.n {
			if out.n > 0 {
				return nil
			}
			p.input.clear()
			p.at = 0
			if err := p.in.next(p.input); err != nil || p.input.n == 0 {
				return err
			}
		}
		if err := p.row(out); err != nil {
			return err
		}
		if out.full() {
			return nil
		}
	}
}

// row gives pairs for the input's row at, until out is full or there are no more.
func (p *path) row(out *batch) error {
	row := p.input.row(p.at)
	s, o := p.binding(p.subject, row), p.binding(p.object, row)
	if !p.begun {
		if err := p.begin(s, o); err != nil {
			return err
		}
		p.begun = true
	}
	for {
		for len(p.ends) > 0 {
			if out.full() {
				return nil
			}
			end := p.ends[0]
			p.ends = p.ends[1:]
			from, to := p.start, end
			if !p.forward {
				from, to = end, p.start
			}
			p.give(out, row, from, to)
		}
		if len(p.starts) == 0 {
			p.begun = false
			p.at++
			p.free()
			return nil
		}
		p.start, p.starts = p.starts[0], p.starts[1:]
		held := p.held
		ends, err := p.walk.reach(p.start, p.repeat, p.forward)
		if err != nil {
			return err
		}
		p.shrink(held) // the ends stay until they are given, and no longer
		p.ends = ends
	}
}

func (p *path) binding(at place, row []string) string {
	if at.slot >= 0 {
		return row[at.slot]
	}
	return at.key
}

// begin finds the starts of a row.
func (p *path) begin(s, o string) error {
	p.starts, p.ends = nil, nil
	p.forward = s != "" || o == ""
	switch {
	case s != "":
		p.starts = []string{s}
	case o != "":
		p.starts = []string{o}
	default:
		nodes, err := p.walk.nodes()
		p.starts = nodes
		return err
	}
	start, at := s, p.subject
	if s == "" {
		start, at = o, p.object
	}
	// A variable's term must be a node of the graph, as the path would have bound
	// it; a term of the query need not.
	if p.repeat.Min == 0 && at.slot >= 0 && !p.seeded[at.slot] {
		ok, err := p.walk.isNode(start)
		if err != nil {
			return err
		}
		if !ok {
			p.starts = nil
		}
	}
	return nil
}

func (p *path) give(out *batch, row []string, from, to string) {
	if s := p.binding(p.subject, row); s != "" && s != from {
		return
	}
	if o := p.binding(p.object, row); o != "" && o != to {
		return
	}
	if p.subject.slot >= 0 && p.subject.slot == p.object.slot && from != to {
		return
	}
	next := out.add(row, p.input.ord[p.at])
	if p.subject.slot >= 0 {
		next[p.subject.slot] = from
	}
	if p.object.slot >= 0 {
		next[p.object.slot] = to
	}
}

func (p *path) reset() {
	p.input.clear()
	p.at, p.begun = 0, false
	p.free()
	p.in.reset()
}

func (p *path) close() { p.free(); p.in.close() }

// walker follows paths through the active graph.
type walker struct {
	q      *query
	graphs *graphs
	plan   *Plan
	holder *holder
}

// set is nodes in the order in which they were found.
type set struct {
	list []string
	has  map[string]struct{}
}

func (w *walker) put(s *set, node string) (bool, error) {
	if _, ok := s.has[node]; ok {
		return false, nil
	}
	if err := w.holder.grow(len(node) + 64); err != nil {
		return false, err
	}
	if s.has == nil {
		s.has = make(map[string]struct{})
	}
	s.has[node] = struct{}{}
	s.list = append(s.list, node)
	return true, nil
}

// reach returns the nodes that a repetition reaches from start.
func (w *walker) reach(start string, p *ast.PathRepeat, forward bool) ([]string, error) {
	return w.repeat([]string{start}, p, forward)
}

// repeat returns the nodes that a repetition reaches from any of the nodes.
func (w *walker) repeat(from []string, p *ast.PathRepeat, forward bool) ([]string, error) {
	var found set
	if p.Min == 0 {
		for _, node := range from {
			if _, err := w.put(&found, node); err != nil {
				return nil, err
			}
		}
	}
	for level := from; len(level) > 0; {
		next, err := w.step(level, p.Arg, forward)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, node := range next {
			fresh, err := w.put(&found, node)
			if err != nil {
				return nil, err
			}
			if fresh {
				level = append(level, node)
			}
		}
		if p.Once {
			break
		}
	}
	return found.list, nil
}

// step returns the nodes that a path connects with any of the nodes, each once.
func (w *walker) step(from []string, p ast.Path, forward bool) ([]string, error) {
	if err := w.q.check(); err != nil {
		return nil, err
	}
	if len(from) == 0 {
		return nil, nil
	}
	switch p := p.(type) {
	case *ast.PathIRI:
		return w.edges(from, encode(triple.NewIRI(p.IRI)), nil, forward)
	case *ast.PathInverse:
		return w.step(from, p.Arg, !forward)
	case *ast.PathRepeat:
		return w.repeat(from, p, forward)
	case *ast.PathSequence:
		for i := range p.Parts {
			part := p.Parts[i]
			if !forward {
				part = p.Parts[len(p.Parts)-1-i]
			}
			next, err := w.step(from, part, forward)
			if err != nil {
				return nil, err
			}
			from = next
		}
		return from, nil
	case *ast.PathAlternative:
		var found set
		for _, part := range p.Parts {
			next, err := w.step(from, part, forward)
			if err != nil {
				return nil, err
			}
			for _, node := range next {
				if _, err := w.put(&found, node); err != nil {
					return nil, err
				}
			}
		}
		return found.list, nil
	case *ast.PathNegated:
		return w.negated(from, p, forward)
	}
	return nil, nil
}

func (w *walker) negated(from []string, p *ast.PathNegated, forward bool) ([]string, error) {
	var not [2]map[string]bool
	for _, member := range p.Set {
		i := 0
		if member.Inverse {
			i = 1
		}
		if not[i] == nil {
			not[i] = map[string]bool{}
		}
		not[i][string(appendKeyForm(nil, encode(triple.NewIRI(member.IRI))))] = true
	}
	if not[1] == nil && not[0] == nil {
		not[0] = map[string]bool{}
	}
	var found set
	for i := range not {
		if not[i] == nil {
			continue
		}
		next, err := w.edges(from, "", not[i], forward == (i == 0))
		if err != nil {
			return nil, err
		}
		for _, node := range next {
			if _, err := w.put(&found, node); err != nil {
				return nil, err
			}
		}
	}
	return found.list, nil
}

// edges returns the nodes that an edge leads to from any of the nodes, each once:
// of a predicate, or of all but those of not.
func (w *walker) edges(from []string, predicate string, not map[string]bool, forward bool) ([]string, error) {
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
	in := newBatch(2)
	var found set
	for len(from) > 0 {
		in.clear()
		n := min(len(from), batchRows)
		for _, start := range from[:n] {
			in.add([]string{start, ""}, 0)
		}
		from = from[n:]
		l := newLookup(&sub, &feedReader{feed: &feed{in}}, pat, w.plan)
		l.chunk = batchRows
		out := newBatch(2)
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
				if _, err := w.put(&found, out.row(i)[other]); err != nil {
					l.close()
					return nil, err
				}
			}
		}
		l.close()
	}
	return found.list, nil
}

// nodes returns the subjects and objects of the active graph, each once.
func (w *walker) nodes() ([]string, error) {
	pat := &pattern{graphs: *w.graphs}
	for i := range pat.place {
		pat.place[i].slot = -1
	}
	pat.place[triple.Subject].slot, pat.place[triple.Object].slot = 0, 1
	sub := *w.q
	sub.width = 2
	l := newLookup(&sub, &unit{}, pat, w.plan)
	defer l.close()
	var found set
	out := newBatch(2)
	for {
		out.clear()
		if err := l.next(out); err != nil || out.n == 0 {
			return found.list, err
		}
		for _, node := range out.cells {
			if _, err := w.put(&found, node); err != nil {
				return nil, err
			}
		}
	}
}

// isNode tells whether a term is a subject or an object of the active graph.
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
