// The join of rows with pairs of nodes connected by a path.

package path

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// Join joins its input with the pairs of nodes connected by a repeated path (section 18.4:
// ZeroOrOnePath, ZeroOrMorePath and OneOrMorePath). A pair comes once, even if several ways
// connect it.
//
// The rows of a batch go together. If one end is bound, a search finds all nodes reached from
// it. If both are, it searches from both sides, a level at a time on the side with fewer new
// nodes, until one side is complete. If none is, a search begins at each node with a first edge of
// the path; or at each node of the graph if the path may have no edge.
type Join struct {
	Exec    *exec.Execution
	Input   exec.Operator
	Subject pattern.Place
	Object  pattern.Place
	Repeat  *ast.PathRepeat
	Empty   bool // it connects nodes with themselves
	Graphs  pattern.Graphs
	Numbers map[int]bool // variables that may be bound to numbers, see [solution.AppendNumber]
	Unread  map[int]bool // variables that nothing above reads: they stay unbound
	Plan    *explain.Plan
	memory.Holder

	Walk   Walker
	Batch  *solution.Batch
	at     int
	Chunk  int
	nodes  []int32            // if the row at binds no end: the remaining starts
	number uint32             // if the starts are all nodes, and the columns have them: the next one
	open   bool               // nodes and number are of the row at
	begins map[int32]struct{} // the nodes that a repetition can begin at; nil if they are not known
	tasks  []pathTask
	task   int
	give   int       // of the task's ends
	live   []*search // of the tasks
	kept   [2]*search
	known  map[int32]bool // nodes: whether the graph has them
}

// pathTask is one row of the input, or one start of it.
type pathTask struct {
	row     int
	start   int32 // the start of the deciding search
	end     int32 // negative: any
	search  *search
	index   int // of the start in the search
	forward bool
	node    bool // the start is surely a node
}

func (p *Join) Next(out *solution.Batch) error {
	for {
		if err := p.Exec.Check(); err != nil {
			return err
		}
		switch {
		case p.task < len(p.tasks):
			if err := p.emit(out); err != nil {
				return err
			}
		case p.at < p.Batch.Len:
			if err := p.begin(); err != nil {
				return err
			}
		default:
			p.Batch.Clear()
			p.at = 0
			if err := p.Input.Next(p.Batch); err != nil || p.Batch.Len == 0 {
				return err
			}
		}
		if out.Full() || out.Len > 0 && p.task >= len(p.tasks) {
			return nil
		}
	}
}

// begin makes tasks of the next rows, and does their searches.
func (p *Join) begin() error {
	if (!p.open || p.number > 0) && p.Held > p.Account.Limit/8 {
		open, number := p.open, p.number
		p.forget()
		p.open, p.number = open, number
	}
	for {
		// 1. Make tasks and do their searches. If they hold too much, fewer tasks are tried from
		// the same place.
		at, nodes, number, open := p.at, p.nodes, p.number, p.open
		err := p.collect()
		if err == nil {
			err = p.searches()
		}
		if errors.Is(err, errCells) {
			p.at = at
			p.leaveCells()
			continue
		}
		if errors.Is(err, errPairs) && len(p.tasks) > 1 {
			p.at, p.nodes, p.number, p.open = at, nodes, number, open
			p.Chunk = max(1, len(p.tasks)/4)
			continue
		}
		if err != nil {
			p.tasks = p.tasks[:0]
			return err
		}
		// 2. Chunks grow while searches find little.
		pairs := 0
		for _, s := range p.live {
			pairs += s.pairs
		}
		if p.Chunk < solution.BatchRows && pairs < maxPairs/4 {
			p.Chunk *= 2
		}
		return nil
	}
}

// collect makes up to chunk tasks.
func (p *Join) collect() error {
	// 1. Release the searches of the tasks before, unless one is kept for the next rows.
	p.tasks, p.task, p.give = p.tasks[:0], 0, 0
	for _, s := range p.live {
		if s != p.kept[0] && s != p.kept[1] {
			s.release()
		}
	}
	p.live = p.live[:0]
	if err := p.meet(); err != nil {
		return err
	}
	// 2. Make a task of each row. If a row binds no end, it makes one for each node.
	for p.at < p.Batch.Len && len(p.tasks) < p.Chunk {
		row := p.Batch.Row(p.at)
		s, o := p.binding(p.Subject, row), p.binding(p.Object, row)
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
		if task.start, err = p.Walk.id(s); err != nil {
			return err
		}
		if o != "" {
			if task.end, err = p.Walk.id(o); err != nil {
				return err
			}
		}
		p.tasks = append(p.tasks, task)
		p.at++
	}
	return nil
}

// collectNodes makes tasks of a row without a bound end.
func (p *Join) collectNodes() error {
	// 1. If all nodes are starts and the columns have them, they are taken by number, and no list is held.
	if p.Empty && p.Walk.complete() && (!p.open || p.number > 0) {
		return p.collectNumbers()
	}
	// 2. Otherwise the starts are listed first.
	if !p.open {
		var begins nodeList
		var err error
		// An empty repetition has each node as its own neighbour.
		if !Empty(p.Repeat.Arg) {
			if begins, err = p.Walk.starts(p.Repeat.Arg); err != nil {
				return err
			}
		}
		// If the path may have no edge, all nodes are starts.
		nodes := begins.list
		if p.Empty {
			if nodes, err = p.Walk.nodes(); err != nil {
				return err
			}
		}
		p.nodes, p.begins, p.open = nodes, begins.met, true
	}
	n := min(len(p.nodes), p.Chunk-len(p.tasks))
	for _, node := range p.nodes[:n] {
		p.tasks = append(p.tasks, pathTask{row: p.at, start: node, end: -1, forward: true, node: true})
	}
	if p.nodes = p.nodes[n:]; len(p.nodes) == 0 {
		p.nodes, p.open = nil, false
		p.at++
	}
	return nil
}

// collectNumbers makes tasks of all nodes, which have the numbers of the columns.
func (p *Join) collectNumbers() error {
	if !p.open {
		p.open, p.number = true, 1
	}
	last := p.Walk.Columns.Dictionary().Len()
	for ; int(p.number) <= last && len(p.tasks) < p.Chunk; p.number++ {
		id, err := p.Walk.idOf(p.number)
		if err != nil {
			return err
		}
		p.tasks = append(p.tasks, pathTask{row: p.at, start: id, end: -1, forward: true, node: true})
	}
	if int(p.number) > last {
		p.open, p.number = false, 0
		p.at++
	}
	return nil
}

// searches finds the answers of the tasks.
func (p *Join) searches() error {
	// 1. Tasks with one bound end: one search for all of a direction, to its end.
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
	// 2. Tasks with two: search from both sides, always on with the smaller one, until one side
	// is complete.
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
	// 3. The complete side has the answers.
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
func (p *Join) gather(forward bool, some func(*pathTask) bool, ends bool) (*search, error) {
	var starts []int32
	// 1. Collect the starts, each once.
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
	// 2. If the search before was from the same start, it has the answer.
	if s := p.kept[side(forward)]; s != nil && len(starts) == 1 && s.starts[0] == starts[0] {
		return p.assign(s, some, ends)
	}
	// 3. Otherwise begin a new one. It must be in live, because collect releases the searches
	// there.
	s, err := p.Walk.search(starts, p.Repeat, forward)
	if err != nil {
		return nil, err
	}
	if forward {
		s.begins = p.begins
	}
	p.live = append(p.live, s)
	return p.assign(s, some, ends)
}

// assign sets the search of tasks: it has their answers.
func (p *Join) assign(s *search, some func(*pathTask) bool, ends bool) (*search, error) {
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

// keep stores a search for later batches if it has one start, because the next rows often have
// the same.
func (p *Join) keep(s *search) {
	if len(s.starts) != 1 || !s.done() {
		return
	}
	if old := p.kept[side(s.forward)]; old != nil && old != s {
		p.live = append(p.live, old)
	}
	p.kept[side(s.forward)] = s
}

func (p *Join) binding(at pattern.Place, row []string) string {
	if at.Slot >= 0 {
		return row[at.Slot]
	}
	return at.Key
}

// emit gives the pairs of the tasks, until out is full.
func (p *Join) emit(out *solution.Batch) error {
	for ; p.task < len(p.tasks); p.task++ {
		t := &p.tasks[p.task]
		// 1. If a task's start is no node of the graph, it has no solution.
		if p.give == 0 {
			if ok, err := p.counts(t); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		// 2. If both ends are bound, there is a solution if the search met the other one.
		if t.end >= 0 {
			other := t.end
			if !t.search.forward {
				other = t.start
			}
			if t.search.has(t.index, other) {
				if out.Full() {
					return nil
				}
				out.Add(p.Batch.Row(t.row), p.Batch.Origin[t.row])
			}
			continue
		}
		// 3. Otherwise each end is one.
		ends := t.search.ends[t.index]
		for ; p.give < len(ends); p.give++ {
			if out.Full() {
				return nil
			}
			if p.Walk.names[ends[p.give]] == "" && !p.Unread[p.ends(t)[1].Slot] {
				if err := p.nameEnds(); err != nil {
					return err
				}
			}
			p.pair(out, t, ends[p.give])
		}
		p.give = 0
	}
	return nil
}

func (p *Join) pair(out *solution.Batch, t *pathTask, end int32) {
	from, to := t.start, end
	if !t.forward {
		from, to = to, from
	}
	if p.Subject.Slot >= 0 && p.Subject.Slot == p.Object.Slot && from != to {
		return
	}
	next := out.Add(p.Batch.Row(t.row), p.Batch.Origin[t.row])
	for _, one := range [...]struct {
		at   pattern.Place
		node int32
	}{{p.Subject, from}, {p.Object, to}} {
		if one.at.Slot >= 0 && next[one.at.Slot] == "" && !p.Unread[one.at.Slot] {
			next[one.at.Slot] = p.Walk.names[one.node]
			if !p.Numbers[one.at.Slot] {
				next[one.at.Slot] = p.Walk.term(one.node)
			}
			out.AddWeight(next[one.at.Slot])
		}
	}
}

// counts reports whether a task's start may be connected with itself by no edge. A variable's
// term must be a node of the graph for this, but a term of the query need not. If a term is no
// node, it has no edge either.
func (p *Join) counts(t *pathTask) (bool, error) {
	free := func(at pattern.Place) bool { return at.Slot >= 0 }
	if !p.Empty || t.node || !free(p.Subject) || !free(p.Object) || t.end >= 0 && t.end != t.start {
		return true, nil
	}
	if known, ok := p.known[t.start]; ok {
		return known, nil
	}
	if t.end < 0 && len(t.search.ends[t.index]) > 1 {
		return true, nil // it has an edge
	}
	ok, err := p.Walk.isNode(t.start)
	if err != nil {
		return false, err
	}
	if p.known == nil {
		p.known = make(map[int32]bool)
	}
	p.known[t.start] = ok
	return ok, nil
}

// forget frees the results of the searches so far.
func (p *Join) forget() {
	p.kept, p.live = [2]*search{}, nil
	p.tasks, p.task, p.give, p.known = p.tasks[:0], 0, 0, nil
	p.nodes, p.begins, p.number, p.open = nil, nil, 0, false
	p.Walk.clear()
}

func (p *Join) Reset() {
	p.forget()
	p.Batch.Clear()
	p.at = 0
	p.Input.Reset()
}

func (p *Join) Close() { p.forget(); p.Input.Close() }
