// Runs: sorted parts of a load in memory.

package rdfload

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/rdfload/internal/arena"
	"github.com/trefoildb/trefoil/triple"
)

// run is a sorted part of a load in memory: the distinct terms by rank, and the quads as ranks. The
// quads are in one order at a time.
type run struct {
	space *runSpace
	terms []byte            // the distinct terms in sorted order, one after the other
	ends  []uint64          // by rank: the end of the term
	longs map[uint32][]byte // rank -> whole form of a long term
	quads []quad            // sorted by the last call of sortBy
	other []quad
	named int // quads of named graphs
}

// runSpace is the memory for building runs, one after the other.
type runSpace struct {
	workers      int
	dictionaries []*dictionary
	writers      []*quadWriter
	annotations  []*annotationBuffer // by worker
	quads        *quadStore
	items        *arena.Array[termItem]
	ranks        []*arena.Array[uint32] // by worker: id -> rank
	terms        *arena.Array[byte]     // the distinct terms of a sealed run
	ends         *arena.Array[uint64]
	budget       int64
}

// newRunSpace reserves room for runs of at most budget bytes. All dictionaries share one seed.
func newRunSpace(workers int, budget int64) (_ *runSpace, err error) {
	s := &runSpace{workers: workers, budget: budget}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	// 1. Each worker has its own dictionary, ranks and annotations, so that they need no locks.
	seed := newSeed()
	for range workers {
		d, err := newDictionary(seed, budget, maxTerms/workers)
		if err != nil {
			return nil, err
		}
		s.dictionaries = append(s.dictionaries, d)
		ranks, err := arena.New[uint32](int(budget / 16))
		if err != nil {
			return nil, err
		}
		s.ranks = append(s.ranks, ranks)
		s.annotations = append(s.annotations, new(annotationBuffer))
	}
	// 2. Quads and sorted terms are shared. Each arena reserves for the whole budget, because pages
	// count only when they are written.
	if s.quads, err = newQuadStore(budget); err != nil {
		return nil, err
	}
	for range workers {
		s.writers = append(s.writers, &quadWriter{store: s.quads})
	}
	if s.items, err = arena.New[termItem](int(budget / 16)); err != nil {
		return nil, err
	}
	if s.terms, err = arena.New[byte](int(budget)); err != nil {
		return nil, err
	}
	s.ends, err = arena.New[uint64](int(budget / 16))
	return s, err
}

func (s *runSpace) release() {
	for _, d := range s.dictionaries {
		d.release()
	}
	for _, r := range s.ranks {
		r.Release()
	}
	if s.quads != nil {
		s.quads.release()
	}
	s.items.Release()
	s.terms.Release()
	s.ends.Release()
}

// reset empties the space for the next run. It keeps the pages, unless they exceed the budget. They
// may exceed it if runs of different kinds follow each other, such as one of many quads and one of
// many terms.
func (s *runSpace) reset() error {
	resident := int64(0)
	for i, d := range s.dictionaries {
		d.reset()
		s.writers[i].reset()
		s.annotations[i].reset()
		resident += d.resident() + s.ranks[i].Resident()
	}
	s.quads.reset()
	resident += s.quads.resident() + s.items.Resident() + s.terms.Resident() + s.ends.Resident()
	if resident > s.budget {
		return s.renew()
	}
	return nil
}

// renew empties the space and releases its memory.
func (s *runSpace) renew() error {
	err := errors.Join(s.quads.renew(), s.items.Renew(), s.terms.Renew(), s.ends.Renew())
	for i, d := range s.dictionaries {
		s.writers[i].reset()
		err = errors.Join(err, d.renew(), s.ranks[i].Renew())
	}
	return err
}

// takes returns the memory of the current run in bytes, including the memory for sealing it. If a
// dictionary is in use, its last published size counts.
func (s *runSpace) takes() int64 {
	total := s.quads.takes()
	for _, d := range s.dictionaries {
		total += d.published.Load()
	}
	for _, b := range s.annotations {
		total += b.size.Load()
	}
	return total
}

// empty reports whether there are no quads. It may have terms nevertheless, because statements were
// rejected.
func (s *runSpace) empty() bool { return s.quads.next.Load() == 0 }

// seal ranks the terms and sorts the quads in order SPO without duplicates. Nothing must be added
// to the space until reset.
func (s *runSpace) seal() *run {
	r := &run{space: s, longs: make(map[uint32][]byte)}
	r.rankTerms()
	parallel(len(s.writers), func(w int) {
		s.toRanks(w)
		s.annotationsToRanks(w)
	})
	r.quads = s.quads.compact(s.writers)
	r.other = s.quads.spare.Data[:len(r.quads)]
	if r.countNamed() > 0 {
		r.sortBy(triple.Graph)
	}
	r.sortBy(triple.Object)
	r.sortBy(triple.Predicate)
	r.sortBy(triple.Subject)
	r.quads = slices.Compact(r.quads)
	r.other = r.other[:len(r.quads)]
	r.named = r.countNamed()
	return r
}

func (r *run) countNamed() int {
	n := 0
	for i := range r.quads {
		if r.quads[i][triple.Graph] != noGraph {
			n++
		}
	}
	return n
}

// rows returns the number of the run's rows in all orders.
func (r *run) rows() int64 { return 3*int64(len(r.quads)) + int64(r.named) }

// sortBy sorts the quads stably by one position.
func (r *run) sortBy(position int) {
	r.quads, r.other = radixSort(r.quads, r.other, position, uint32(len(r.ends)), r.space.workers)
}

// rankTerms sorts the terms of all workers and numbers the distinct ones.
func (r *run) rankTerms() {
	// 1. Gather references to all terms, then sort them.
	s := r.space
	n := 0
	for w, d := range s.dictionaries {
		s.ranks[w].Touch(d.len())
		n += d.len()
	}
	s.items.Touch(n)
	items := s.items.Data[:n]
	at := 0
	for w, d := range s.dictionaries {
		for id := range uint32(d.len()) {
			items[at].ref = newTermRef(w, id)
			at++
		}
	}
	sortTerms(items, s.dictionaries, s.workers)
	// 2. Copy the distinct terms in sorted order. Consecutive rows of any order then have terms
	// that are close in memory, and caches work well.
	terms, ends := s.terms.Data[:0], s.ends.Data[:0]
	last := 0 // beginning of the last distinct term
	for i := range items {
		ref := items[i].ref
		d := s.dictionaries[ref.worker()]
		term := d.term(ref.id())
		if len(ends) == 0 || !bytes.Equal(term, terms[last:]) {
			last = len(terms)
			terms = append(terms, term...)
			ends = append(ends, uint64(len(terms)))
		}
		rank := uint32(len(ends) - 1)
		// Each reference gets its rank, because several dictionaries may hold the same term.
		s.ranks[ref.worker()].Data = s.ranks[ref.worker()].Data[:d.len()]
		s.ranks[ref.worker()].Data[ref.id()] = rank
		if whole, ok := d.longs[ref.id()]; ok {
			r.longs[rank] = whole
		}
	}
	s.terms.Touch(len(terms))
	s.ends.Touch(len(ends))
	r.terms, r.ends = terms, ends
}

// toRanks replaces ids by ranks in the quads of one worker.
func (s *runSpace) toRanks(w int) {
	ranks := s.ranks[w].Data
	s.writers[w].eachBlock(func(quads []quad) {
		for i := range quads {
			toRanks(&quads[i], ranks)
		}
	})
}

func toRanks(q *quad, ranks []uint32) {
	q[triple.Subject] = ranks[q[triple.Subject]]
	q[triple.Predicate] = ranks[q[triple.Predicate]]
	q[triple.Object] = ranks[q[triple.Object]]
	if q[triple.Graph] != noGraph {
		q[triple.Graph] = ranks[q[triple.Graph]-1] + 1
	}
}

// sortSequence lists the orders in the sequence of eachOrder.
var sortSequence = []triple.Order{triple.SPO, triple.GSPO, triple.OSP, triple.POS}

// eachOrder sorts the quads into each order in turn and calls f with them. Every order needs one
// stable sort, because it follows from an earlier one. SPO by graph is GSPO (a copy: named graphs
// only), SPO by object is OSP, OSP by predicate is POS. The quads are valid until f returns.
func (r *run) eachOrder(f func(o triple.Order, quads []quad) error) error {
	for _, o := range sortSequence {
		quads := r.quads
		// GSPO is a copy, because the sort for OSP must start from SPO.
		switch o {
		case triple.OSP:
			r.sortBy(triple.Object)
			quads = r.quads
		case triple.POS:
			r.sortBy(triple.Predicate)
			quads = r.quads
		case triple.GSPO:
			if r.named == 0 {
				continue
			}
			quads = r.byGraph()
		}
		if err := f(o, quads); err != nil {
			return err
		}
	}
	return nil
}

// byGraph returns the quads of named graphs, sorted by graph first. r.quads must be in order SPO
// and does not change. The result is in r.other.
func (r *run) byGraph() []quad {
	counts := make([]uint32, len(r.ends)+2)
	for i := range r.quads {
		if g := r.quads[i][triple.Graph]; g != noGraph {
			counts[g+1]++
		}
	}
	for g := 1; g < len(counts); g++ {
		counts[g] += counts[g-1]
	}
	sorted := r.other[:r.named]
	for i := range r.quads {
		if g := r.quads[i][triple.Graph]; g != noGraph {
			sorted[counts[g]] = r.quads[i]
			counts[g]++
		}
	}
	return sorted
}

// rowMaker makes the rows of a run: keys from quads, and their values.
type rowMaker struct {
	run       *run
	order     triple.Order
	positions [4]int
	stamp     triple.Stamp
	value     []byte // of rows without long terms
	key       []byte
	longValue []byte
	last      quad
	cut       [2]int // ends of the key's first and second term; 0 at the start
}

func (r *run) newRowMaker(o triple.Order, stamp triple.Stamp) *rowMaker {
	return &rowMaker{run: r, order: o, positions: o.Positions(), stamp: stamp,
		value: (&triple.Value{Stamp: stamp}).Append(nil), key: []byte{byte(o)}}
}

func (m *rowMaker) term(q *quad, position int) []byte {
	rank := q[position]
	if position == triple.Graph {
		rank--
	}
	start := uint64(0)
	if rank > 0 {
		start = m.run.ends[rank-1]
	}
	return m.run.terms[start:m.run.ends[rank]]
}

// row returns the key and value of q; both are valid until the next call. If q shares its first
// terms with the last quad, their bytes in the key are kept.
func (m *rowMaker) row(q quad) (key, value []byte) {
	// Reuse the key up to the first term that differs from the last row.
	p := m.positions
	switch {
	case m.cut[1] > 0 && q[p[0]] == m.last[p[0]] && q[p[1]] == m.last[p[1]]:
		key = m.key[:m.cut[1]]
	case m.cut[0] > 0 && q[p[0]] == m.last[p[0]]:
		key = m.second(m.key[:m.cut[0]], &q)
	default:
		key = append(m.key[:1], m.term(&q, p[0])...)
		key = append(key, 0, 1)
		m.cut[0] = len(key)
		key = m.second(key, &q)
	}
	key = append(key, m.term(&q, p[2])...)
	if p[3] != triple.Graph || q[triple.Graph] != noGraph {
		key = append(key, 0, 1)
		key = append(key, m.term(&q, p[3])...)
	}
	m.key, m.last = key, q
	if len(m.run.longs) == 0 {
		return key, m.value
	}
	return key, m.valueOf(q)
}

func (m *rowMaker) second(key []byte, q *quad) []byte {
	key = append(key, m.term(q, m.positions[1])...)
	key = append(key, 0, 1)
	m.cut[1] = len(key)
	return key
}

// valueOf returns the value of q if the run has long terms. It is valid until the next call.
func (m *rowMaker) valueOf(q quad) []byte {
	v := triple.Value{Stamp: m.stamp}
	some := false
	for position := range v.Long {
		rank := q[position]
		if position == triple.Graph {
			if rank == noGraph {
				continue
			}
			rank--
		}
		if whole, ok := m.run.longs[rank]; ok {
			v.Long[position] = whole
			some = true
		}
	}
	if !some {
		return m.value
	}
	m.longValue = v.Append(m.longValue[:0])
	return m.longValue
}
