package exec

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// path joins its input with the pairs of nodes that a repeated path connects
// (section 18.4: ZeroOrOnePath, ZeroOrMorePath and OneOrMorePath). A pair comes
// once, however many ways connect it.
//
// The rows of a batch go together. Where one end is bound, all that is reached
// from it is found. Where both are, it is looked for from both sides, a level at a
// time on the side that has fewer nodes to go on from, until one side has it all.
// Where none is, every node of the graph is a start.
type path struct {
	q       *query
	in      operator
	subject place
	object  place
	repeat  *ast.PathRepeat
	empty   bool // it connects nodes with themselves
	graphs  graphs
	seeded  map[int]bool // variables that stand for terms: they need not be in the graph
	plan    *Plan
	holder

	walk  walker
	input *batch
	at    int
	chunk int
	nodes []int32 // where the row at binds no end: the starts that are left
	open  bool    // nodes is of the row at
	tasks []pathTask
	task  int
	give  int       // of the task's ends
	live  []*search // of the tasks
	kept  [2]*search
	known map[int32]bool // nodes: whether the graph has them
}

// pathTask is one row of the input, or one start of it.
type pathTask struct {
	row     int
	start   int32 // where the search begins that tells
	end     int32 // negative: any
	search  *search
	index   int // of the start in the search
	forward bool
	node    bool // the start is surely a node
}

func (p *path) next(out *batch) error {
	for {
		if err := p.q.check(); err != nil {
			return err
		}
		switch {
		case p.task < len(p.tasks):
			if err := p.emit(out); err != nil {
				return err
			}
		case p.at < p.input.n:
			if err := p.begin(); err != nil {
				return err
			}
		default:
			p.input.clear()
			p.at = 0
			if err := p.in.next(p.input); err != nil || p.input.n == 0 {
				return err
			}
		}
		if out.full() || out.n > 0 && p.task >= len(p.tasks) {
			return nil
		}
	}
}

// begin makes tasks of the next rows, and does their searches.
func (p *path) begin() error {
	if !p.open && p.held > p.account.limit/8 {
		p.forget()
	}
	for {
		at, nodes, open := p.at, p.nodes, p.open
		err := p.collect()
		if err == nil {
			err = p.searches()
		}
		if errors.Is(err, errPairs) && len(p.tasks) > 1 {
			p.at, p.nodes, p.open = at, nodes, open
			p.chunk = max(1, len(p.tasks)/4)
			continue
		}
		if err != nil {
			p.tasks = p.tasks[:0]
			return err
		}
		pairs := 0
		for _, s := range p.live {
			pairs += len(s.seen)
		}
		if p.chunk < batchRows && pairs < maxPairs/4 {
			p.chunk *= 2
		}
		return nil
	}
}

// collect makes up to chunk tasks.
func (p *path) collect() error {
	p.tasks, p.task, p.give = p.tasks[:0], 0, 0
	for _, s := range p.live {
		if s != p.kept[0] && s != p.kept[1] {
			s.release()
		}
	}
	p.live = p.live[:0]
	for p.at < p.input.n && len(p.tasks) < p.chunk {
		row := p.input.row(p.at)
		s, o := p.binding(p.subject, row), p.binding(p.object, row)
		if s == "" && o == "" {
			if err := p.collectNodes(); err != nil {
				return err
			}
			continue
		}
		task := pathTask{row: p.at, end: -1, forward: s != ""}
		var err error
		if s == "" {
			s, o = o, ""
		}
		if task.start, err = p.walk.id(s); err != nil {
			return err
		}
		if o != "" {
			if task.end, err = p.walk.id(o); err != nil {
				return err
			}
		}
		p.tasks = append(p.tasks, task)
		p.at++
	}
	return nil
}

// collectNodes makes tasks of a row that binds no end.
func (p *path) collectNodes() error {
	if !p.open {
		nodes, err := p.walk.nodes()
		if err != nil {
			return err
		}
		p.nodes, p.open = nodes, true
	}
	n := min(len(p.nodes), p.chunk-len(p.tasks))
	for _, node := range p.nodes[:n] {
		p.tasks = append(p.tasks, pathTask{row: p.at, start: node, end: -1, forward: true, node: true})
	}
	if p.nodes = p.nodes[n:]; len(p.nodes) == 0 {
		p.nodes, p.open = nil, false
		p.at++
	}
	return nil
}

// searches finds what the tasks ask for.
func (p *path) searches() error {
	for _, forward := range [...]bool{true, false} {
		s, err := p.gather(forward, func(t *pathTask) bool { return t.end < 0 && t.forward == forward }, false)
		if err != nil || s == nil {
			if err != nil {
				return err
			}
			continue
		}
		for !s.done() {
			if err := s.level(); err != nil {
				return err
			}
		}
		p.keep(s)
	}
	both := func(t *pathTask) bool { return t.end >= 0 }
	from, err := p.gather(true, both, false)
	if err != nil || from == nil {
		return err
	}
	to, err := p.gather(false, both, true)
	if err != nil {
		return err
	}
	for !from.done() && !to.done() {
		one := from
		if len(to.next) < len(from.next) {
			one = to
		}
		if err := one.level(); err != nil {
			return err
		}
	}
	side := from
	if !from.done() {
		side = to
	}
	if side == from { // gather left the tasks at the other side
		if _, err := p.assign(from, both, false); err != nil {
			return err
		}
	}
	p.keep(side)
	return nil
}

// gather returns a search from the starts, or with ends the ends, of some tasks,
// each once.
func (p *path) gather(forward bool, some func(*pathTask) bool, ends bool) (*search, error) {
	var starts []int32
	met := map[int32]struct{}{}
	for i := range p.tasks {
		t := &p.tasks[i]
		if !some(t) {
			continue
		}
		start := t.start
		if ends {
			start = t.end
		}
		if _, ok := met[start]; !ok {
			met[start] = struct{}{}
			starts = append(starts, start)
		}
	}
	if len(starts) == 0 {
		return nil, nil
	}
	if s := p.kept[side(forward)]; s != nil && len(starts) == 1 && s.starts[0] == starts[0] {
		return p.assign(s, some, ends)
	}
	s, err := p.walk.search(starts, p.repeat, forward)
	if err != nil {
		return nil, err
	}
	p.live = append(p.live, s)
	return p.assign(s, some, ends)
}

// assign tells tasks which search has their answer.
func (p *path) assign(s *search, some func(*pathTask) bool, ends bool) (*search, error) {
	index := make(map[int32]int, len(s.starts))
	for i, start := range s.starts {
		index[start] = i
	}
	for i := range p.tasks {
		if t := &p.tasks[i]; some(t) {
			t.search = s
			t.index = index[t.start]
			if ends {
				t.index = index[t.end]
			}
		}
	}
	return s, nil
}

func side(forward bool) int {
	if forward {
		return 0
	}
	return 1
}

// keep remembers a search from one start: the next rows often have the same.
func (p *path) keep(s *search) {
	if len(s.starts) != 1 || !s.done() {
		return
	}
	if old := p.kept[side(s.forward)]; old != nil && old != s {
		p.live = append(p.live, old)
	}
	p.kept[side(s.forward)] = s
}

func (p *path) binding(at place, row []string) string {
	if at.slot >= 0 {
		return row[at.slot]
	}
	return at.key
}

// emit gives the pairs of the tasks, until out is full.
func (p *path) emit(out *batch) error {
	for ; p.task < len(p.tasks); p.task++ {
		t := &p.tasks[p.task]
		if p.give == 0 {
			if ok, err := p.counts(t); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		if t.end >= 0 {
			other := t.end
			if !t.search.forward {
				other = t.start
			}
			if t.search.has(t.index, other) {
				if out.full() {
					return nil
				}
				out.add(p.input.row(t.row), p.input.ord[t.row])
			}
			continue
		}
		ends := t.search.ends[t.index]
		for ; p.give < len(ends); p.give++ {
			if out.full() {
				return nil
			}
			p.pair(out, t, ends[p.give])
		}
		p.give = 0
	}
	return nil
}

func (p *path) pair(out *batch, t *pathTask, end int32) {
	from, to := t.start, end
	if !t.forward {
		from, to = to, from
	}
	if p.subject.slot >= 0 && p.subject.slot == p.object.slot && from != to {
		return
	}
	next := out.add(p.input.row(t.row), p.input.ord[t.row])
	for _, one := range [...]struct {
		at   place
		node int32
	}{{p.subject, from}, {p.object, to}} {
		if one.at.slot >= 0 && next[one.at.slot] == "" {
			next[one.at.slot] = p.walk.names[one.node]
			out.weigh(next[one.at.slot])
		}
	}
}

// counts reports whether a task's start may be connected with itself by no edge. A
// variable's term must be a node of the graph for that; a term of the query need
// not. What is no node has no edge either.
func (p *path) counts(t *pathTask) (bool, error) {
	free := func(at place) bool { return at.slot >= 0 && !p.seeded[at.slot] }
	if !p.empty || t.node || !free(p.subject) || !free(p.object) || t.end >= 0 && t.end != t.start {
		return true, nil
	}
	if known, ok := p.known[t.start]; ok {
		return known, nil
	}
	ok, err := p.walk.isNode(p.walk.names[t.start])
	if err != nil {
		return false, err
	}
	if p.known == nil {
		p.known = make(map[int32]bool)
	}
	p.known[t.start] = ok
	return ok, nil
}

// forget frees what was found so far.
func (p *path) forget() {
	p.kept, p.live = [2]*search{}, nil
	p.tasks, p.task, p.give, p.known = p.tasks[:0], 0, 0, nil
	p.nodes, p.open = nil, false
	p.walk.clear()
}

func (p *path) reset() {
	p.forget()
	p.input.clear()
	p.at = 0
	p.in.reset()
}

func (p *path) close() { p.forget(); p.in.close() }
