// Degraded reads: rows of an owner that is down, from other orders.
//
// A row has its whole triple, in every order. If all triples of a range have some terms in common,
// an order that begins with one or more of these terms has the same triples within one range. If
// the owners of that range live, it answers: its rows are filtered, get the keys of the
// requested order, and are sorted.
//
//	requested answered by
//	s p ?     POS, by p          s p o   any
//	? p o     OSP, by o          g s ?   SPO, by s
//	s ? o     SPO, by s          g ...   as without g, filtered
//	s, p, o or g                 all rows of live machines, see gather.go
//	nothing                      none

package reads

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// errNoOrder is returned if no other order has the rows of a down owner.
var errNoOrder = fmt.Errorf("%w: the machine that has a part of what is asked for is dead, and no other order can tell it; it is being rebuilt", store.ErrUnavailable)

// fallback is a try of a read of rows with owners that are down.
type fallback struct{ attempt }

// open returns a feed for a request of ranges with down owners.
func (fb fallback) open(ctx context.Context, q *request) (feed, error) {
	if fb.reads.isSoleHolder(fb.view) {
		return fb.openAsSoleHolder(ctx, q), nil
	}
	m := &memoryFeed{reverse: q.reverse}
	limit := fb.reads.options.DegradedMemory
	used := int64(0)
	err := fb.visit(ctx, q, func(index int, key, value []byte) error {
		used += int64(len(key)+len(value)) + rowBytes
		if used > limit {
			return errTooMuch(limit)
		}
		m.rows = append(m.rows, row{index, bytes.Clone(key), bytes.Clone(value)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(m.rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	if q.reverse {
		slices.Reverse(m.rows)
	}
	return m, nil
}

// rowBytes is the memory of a row besides its bytes.
const rowBytes = 64

// substitute is the requested ranges for one other order, in its keys.
type substitute struct {
	ranges    []triple.Range // of the order that answers
	requested [triple.GSPO + 1][]indexed
}

type indexed struct {
	triple.Range
	index int
}

// visit calls each for the rows of a request with down owners, each row once, in any sequence.
func (fb fallback) visit(ctx context.Context, q *request, each func(index int, key, value []byte) error) error {
	if fb.reads.isSoleHolder(fb.view) {
		return fb.visitAsSoleHolder(ctx, q, each)
	}
	// 1. Find an order for each range; a range without one must be gathered.
	var substitutes [triple.GSPO + 1]substitute
	var wide [triple.GSPO + 1][]indexed // no range with live owners has them
	f := q.filter
	for i, dead := range q.ranges {
		if !oneOrder(dead) {
			return errNoOrder
		}
		known := q.filter.extend(shared(dead))
		by, r, ok := fb.otherOrder(known, dead)
		if !ok {
			if !known.binds() {
				return errNoOrder
			}
			wide[dead.Lo[0]] = append(wide[dead.Lo[0]], indexed{dead, i})
			continue
		}
		if len(q.ranges) == 1 {
			f = known
		}
		s := &substitutes[by]
		s.ranges = append(s.ranges, r)
		s.requested[dead.Lo[0]] = append(s.requested[dead.Lo[0]], indexed{dead, i})
	}
	// 2. Gather the wide ranges.
	for _, dead := range wide {
		if len(dead) > 0 {
			if err := fb.gather(ctx, q.filter, dead, each); err != nil {
				return err
			}
		}
	}
	// 3. Read the others from their substitutes.
	for i := range substitutes {
		s := &substitutes[i]
		if len(s.ranges) == 0 {
			continue
		}
		if err := fb.tryLookup(ctx, union(s.ranges), f, false, func(r row) error { return s.match(r, each) }); err != nil {
			return err
		}
	}
	fb.degraded.Store(true)
	return nil
}

// oneOrder reports whether all of a range is of one order.
func oneOrder(r triple.Range) bool {
	if len(r.Lo) == 0 || r.Hi == nil || !triple.Order(r.Lo[0]).Valid() {
		return false
	}
	return bytes.Compare(r.Hi, triple.OrderRange(triple.Order(r.Lo[0])).Hi) <= 0
}

// otherOrder returns the order with the most known terms, and its range, if all its owners live.
func (fb fallback) otherOrder(known *filter, dead triple.Range) (by triple.Order, r triple.Range, ok bool) {
	best := 0
	for _, o := range triple.Orders {
		// GSPO begins with the graph, so it needs a known graph.
		other, n := known.prefix(o)
		if o == triple.Order(dead.Lo[0]) || n <= best || fb.readable(other) != nil {
			continue
		}
		if !slices.ContainsFunc(pieces(fb.view.Joint(), other), func(p piece) bool { return !p.live }) {
			by, r, ok, best = o, other, true, n
		}
	}
	return by, r, ok
}

// union returns ranges with the same keys. They ascend and do not overlap.
func union(ranges []triple.Range) []triple.Range {
	slices.SortFunc(ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	all := ranges[:1]
	for _, r := range ranges[1:] {
		last := &all[len(all)-1]
		if bytes.Compare(r.Lo, last.Hi) > 0 {
			all = append(all, r)
		} else if bytes.Compare(r.Hi, last.Hi) > 0 {
			last.Hi = r.Hi
		}
	}
	return all
}

// match calls each for the requested rows of a row's triple.
func (s *substitute) match(r row, each func(index int, key, value []byte) error) error {
	_, terms, err := triple.SplitKey(r.key)
	if err != nil {
		return err
	}
	for _, o := range triple.Orders {
		requested := s.requested[o]
		if len(requested) == 0 {
			continue
		}
		key := triple.AppendKeyOf(nil, o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
		at, found := slices.BinarySearchFunc(requested, key, func(a indexed, key []byte) int { return bytes.Compare(a.Lo, key) })
		if !found {
			at--
		}
		if at < 0 || len(key) == 0 || !requested[at].Contains(key) {
			continue
		}
		if err := each(requested[at].index, key, r.value); err != nil {
			return err
		}
	}
	return nil
}

// memoryFeed is a feed of rows in memory, in the order of the read.
type memoryFeed struct {
	rows    []row
	at      int // of the next one
	reverse bool
}

func (m *memoryFeed) next() (row, bool, error) {
	if m.at == len(m.rows) {
		return row{}, false, nil
	}
	m.at++
	return m.rows[m.at-1], true, nil
}

func (m *memoryFeed) seek(key []byte) (row, bool, bool, error) {
	m.at, _ = slices.BinarySearchFunc(m.rows, key, func(r row, key []byte) int {
		if c := bytes.Compare(r.key, key); m.reverse {
			return -c
		} else {
			return c
		}
	})
	r, ok, err := m.next()
	return r, ok, true, err
}

func (m *memoryFeed) close() {}
