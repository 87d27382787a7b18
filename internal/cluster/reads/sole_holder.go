// Reads of a sole holder: rows of a machine that is down, on a machine with a copy of every triple.
//
// If one of two machines is down, the other one has all triples: each as a row of some order or
// as an extra replica. So it answers a range of any size from its own store:
//
//   - The triples of the range are in several sources: the live rows of the other orders,
//     beginning with the order that has the most known terms, and then the extra replicas. A
//     triple counts in the first source that has it, so a count needs no memory.
//   - Sorted rows are read in passes. Each pass reads all sources, and keeps the first rows
//     after those of the last pass, as far as the memory allows.

package reads

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// isSoleHolder reports whether this machine is the only live one of base, and so has every triple.
func (ow *owner) isSoleHolder(v *view.View) bool {
	j := v.Joint()
	if len(j.BaseLive) != 1 || !j.BaseLive.Contains(ow.self) || j.Base.Required() != len(j.Base.Placement.Machines()) {
		return false
	}
	_, ok := spareOrders(v)
	return ok
}

// holdAsSoleHolder takes a snapshot for ranges of the down machine. All operations on them are committed
// in it.
func (ow *owner) holdAsSoleHolder(ctx context.Context, v *view.View, ranges []triple.Range) (*held, error) {
	h, err := ow.enter(v.Epoch, nil, false)
	if err != nil {
		return nil, err
	}
	if !ow.isSoleHolder(ow.member.View()) {
		return nil, errors.Join(errMoved, h.close())
	}
	if err := h.waitCommitted(ctx, h.inFlightIn(ranges, nil)); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// soleRead reads dead ranges of one order from their sources.
type soleRead struct {
	held      *held
	joint     *recovery.Joint
	order     triple.Order
	requested []indexed
	filter    *filter
	orders    []soleSource // the sources; the extra replicas come after them
}

// soleSource is another order, with its live ranges.
type soleSource struct {
	order  triple.Order
	ranges []triple.Range
}

// each calls do once for each row in the requested ranges, in any sequence.
func (w *soleRead) each(ctx context.Context, do func(index int, key, value []byte) error) error {
	s := substitute{}
	s.requested[w.order] = w.requested
	// 1. The other orders, without the triples of an earlier one.
	for i, source := range w.orders {
		q := &request{filter: w.filter, ranges: source.ranges}
		err := w.rows(ctx, q, func(r row) error {
			if here, err := w.hasEarlier(r.key, i); here || err != nil {
				return err
			}
			return s.match(r, do)
		})
		if err != nil {
			return err
		}
	}
	// 2. The extra replicas of triples missing in all orders.
	var replicas []triple.Range
	for _, d := range w.requested {
		of := d.Range
		if w.order != triple.SPO {
			of, _ = w.filter.extend(shared(of)).prefix(triple.SPO)
		}
		replicas = append(replicas, of)
	}
	return w.rows(ctx, &request{filter: w.filter, replicas: true, ranges: union(replicas)}, func(r row) error {
		if here, err := w.hasEarlier(r.key, len(w.orders)); here || err != nil {
			return err
		}
		return s.match(r, do)
	})
}

// rows calls do for the rows of a request to this machine.
func (w *soleRead) rows(ctx context.Context, q *request, do func(row) error) error {
	if len(q.ranges) == 0 {
		return nil
	}
	in, err := w.held.rows(ctx, q)
	if err != nil {
		return err
	}
	defer in.close()
	for looked := 1; in.next(); looked++ {
		if looked%checkRows == 0 {
			if err := errors.Join(ctx.Err(), w.held.check()); err != nil {
				return err
			}
		}
		pass, err := q.pass(in.row.key)
		if err == nil && pass {
			err = do(in.row)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(in.err(), w.held.check())
}

// hasEarlier reports whether one of the first n sources has the triple of a key.
func (w *soleRead) hasEarlier(key []byte, n int) (bool, error) {
	for _, source := range w.orders[:n] {
		version, ok, err := recovery.AppendVersion(nil, source.order, key)
		if err != nil {
			return false, err
		}
		if _, live := w.joint.Reader(version); ok && live {
			return true, nil
		}
	}
	return false, nil
}

// newSoleRead returns a read of dead ranges of one order; the caller sets held.
func (fb fallback) newSoleRead(f *filter, order triple.Order, requested []indexed) *soleRead {
	w := &soleRead{joint: fb.view.Joint(), order: order, requested: requested, filter: f}
	if len(requested) == 1 {
		w.filter = f.extend(shared(requested[0].Range))
	}
	for _, o := range otherOrders(order, w.filter, requested) {
		source := soleSource{order: triple.Order(o[0].Lo[0])}
		all := true
		for _, r := range o {
			for _, p := range pieces(w.joint, r) {
				if p.live {
					source.ranges = append(source.ranges, p.Range)
				}
				all = all && p.live
			}
		}
		// otherOrders ends with the most known terms. If a source has all triples, it is enough.
		w.orders = append([]soleSource{source}, w.orders...)
		if all {
			w.orders = w.orders[:1]
		}
	}
	return w
}

// oneOrderEach splits ranges into groups of one order each, sorted by order, or with reverse
// in descending order.
func oneOrderEach(ranges []triple.Range, reverse bool) (parts [][]indexed) {
	for _, o := range triple.Orders {
		var part []indexed
		for i, r := range ranges {
			if r = r.Intersect(triple.OrderRange(o)); !r.Empty() {
				part = append(part, indexed{r, i})
			}
		}
		if len(part) > 0 {
			parts = append(parts, part)
		}
	}
	slices.SortFunc(parts, func(a, b []indexed) int { return bytes.Compare(a[0].Lo, b[0].Lo) })
	if reverse {
		slices.Reverse(parts)
	}
	return parts
}

// visitAsSoleHolder is visit on a machine with all triples.
func (fb fallback) visitAsSoleHolder(ctx context.Context, q *request, each func(index int, key, value []byte) error) error {
	for _, part := range oneOrderEach(q.ranges, false) {
		if err := fb.passAsSoleHolder(ctx, q, part, each); err != nil {
			return err
		}
	}
	return nil
}

// passAsSoleHolder calls each for the rows of ranges of one order, in any sequence.
func (fb fallback) passAsSoleHolder(ctx context.Context, q *request, part []indexed, each func(index int, key, value []byte) error) (err error) {
	end, err := fb.reads.beginGathering(ctx)
	if err != nil {
		return err
	}
	defer end()
	ranges := make([]triple.Range, len(part))
	for i, p := range part {
		ranges[i] = p.Range
	}
	h, err := fb.reads.holdAsSoleHolder(ctx, fb.view, ranges)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	w := fb.newSoleRead(q.filter, triple.Order(part[0].Lo[0]), part)
	w.held = h
	if err := w.each(ctx, each); err != nil {
		return err
	}
	fb.degraded.Store(true)
	return nil
}

// soleFeed returns the rows of ranges of a dead machine, pass by pass.
type soleFeed struct {
	fallback fallback
	ctx      context.Context
	q        *request
	parts    [][]indexed // ranges that are not read yet, by order
	memoryFeed
}

func (fb fallback) openAsSoleHolder(ctx context.Context, q *request) *soleFeed {
	return &soleFeed{fallback: fb, ctx: ctx, q: q, parts: oneOrderEach(q.ranges, q.reverse), memoryFeed: memoryFeed{reverse: q.reverse}}
}

func (f *soleFeed) next() (row, bool, error) {
	for {
		if r, ok, err := f.memoryFeed.next(); ok || err != nil || len(f.parts) == 0 {
			return r, ok, err
		}
		if err := f.pass(); err != nil {
			return row{}, false, err
		}
	}
}

func (f *soleFeed) seek(key []byte) (r row, ok, done bool, err error) {
	if r, ok, _, err = f.memoryFeed.seek(key); ok || err != nil {
		return r, ok, true, err
	}
	return r, false, len(f.parts) == 0, nil
}

// pass reads the next rows, within the memory.
func (f *soleFeed) pass() error {
	// 1. Read the remaining ranges of one order, and keep their first rows.
	kept := firstRows{reverse: f.q.reverse, bytes: f.fallback.reads.options.DegradedMemory, rows: f.q.limit}
	err := f.fallback.passAsSoleHolder(f.ctx, f.q, f.parts[0], kept.add)
	if err != nil {
		return err
	}
	kept.cut(kept.bytes)
	f.memoryFeed = memoryFeed{rows: kept.all, reverse: f.q.reverse}
	if kept.last == nil {
		f.parts = f.parts[1:]
		return nil
	}
	// 2. The next pass reads the rows after these.
	var left []indexed
	for _, part := range f.parts[0] {
		if part.Range = rangeAfter(part.Range, kept.last, f.q.reverse); !part.Empty() {
			left = append(left, part)
		}
	}
	if f.parts = slices.Clone(f.parts); len(left) > 0 {
		f.parts[0] = left
	} else {
		f.parts = f.parts[1:]
	}
	return nil
}

// firstRows keeps the first of the added rows in the order of a read: at least one, and no more than
// fit into its bytes.
type firstRows struct {
	reverse bool
	bytes   int64
	rows    int64 // the most rows to keep; 0 is no limit
	all     []row
	used    int64
	last    []byte // rows behind this key were dropped; nil if none were
}

func (f *firstRows) add(index int, key, value []byte) error {
	if f.last != nil && f.compare(key, f.last) > 0 {
		return nil
	}
	f.all = append(f.all, row{index, bytes.Clone(key), bytes.Clone(value)})
	f.used += int64(len(key)+len(value)) + rowBytes
	if f.used > f.bytes || f.rows > 0 && int64(len(f.all)) >= 2*f.rows+checkRows {
		f.cut(f.bytes / 2)
	}
	return nil
}

func (f *firstRows) compare(a, b []byte) int {
	if f.reverse {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

// cut sorts the rows and drops the last ones, beyond limits of bytes and rows.
func (f *firstRows) cut(most int64) {
	slices.SortFunc(f.all, func(a, b row) int { return f.compare(a.key, b.key) })
	used := int64(0)
	for i, r := range f.all {
		size := int64(len(r.key)+len(r.value)) + rowBytes
		if i > 0 && (used+size > most || f.rows > 0 && int64(i) >= f.rows) {
			f.last = f.all[i-1].key
			clear(f.all[i:])
			f.all = f.all[:i]
			break
		}
		used += size
	}
	f.used = used
}
