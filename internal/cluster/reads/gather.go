// Gathering: rows of an owner that is down, from all live machines.
//
// It is used if no other order has the rows in one live range. A triple is on Required distinct
// machines of base. If fewer machines of base are down, each triple has a row or an extra replica
// on a live one. So these have all rows of the range:
//
//   - the other orders, in what live machines own of them, and
//   - the extra replicas of all live machines, which are sorted as SPO.
//
// Of d dead machines, Required-d live ones hold a triple at least. An order has it on
// one of them. So Required-d-1 of the orders may be left out: with three copies and one
// dead machine one of two, with five copies both.
//
// A machine returns a replica only if it has a place for it under base. Others may be left from an
// earlier layout, and lack later operations.

package reads

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// maxWide bounds the ranges of one gathering. For more than one, the orders are sent as a whole,
// because no filter fits all ranges.
const maxWide = 64

// gather calls each for the rows of ranges of one order with down owners, each row once. The
// filter must be the request's.
func (fb fallback) gather(ctx context.Context, f *filter, dead []indexed, each func(index int, key, value []byte) error) error {
	j := fb.view.Joint()
	spare, ok := spareOrders(fb.view)
	if !ok || len(dead) > maxWide {
		return errNoOrder
	}
	if len(dead) == 1 {
		f = f.extend(shared(dead[0].Range))
	}
	order := triple.Order(dead[0].Lo[0])
	var s substitute
	s.requested[order] = dead
	seen := map[string]struct{}{}
	used, limit := int64(0), fb.reads.options.DegradedMemory
	once := func(index int, key, value []byte) error {
		if _, again := seen[string(key)]; again {
			return nil
		}
		if used += int64(len(key)) + rowBytes; used > limit {
			return errTooMuch(limit)
		}
		seen[string(key)] = struct{}{}
		return each(index, key, value)
	}
	match := func(r row) error { return s.match(r, once) }
	// 1. Wait, because few of these long reads may run at a time.
	end, err := fb.reads.beginGathering(ctx)
	if err != nil {
		return err
	}
	defer end()
	// 2. The other orders, the narrowest ranges first.
	orders := otherOrders(order, f, dead)
	for _, ranges := range orders[min(spare, len(orders)):] {
		var live []triple.Range
		for _, r := range ranges {
			for _, p := range pieces(j, r) {
				if p.live {
					live = append(live, p.Range)
				}
			}
		}
		if len(live) > 0 {
			if err := fb.tryLookup(ctx, live, f, false, match); err != nil {
				return err
			}
		}
	}
	// 3. The extra replicas.
	var replicas []triple.Range
	for _, d := range dead {
		r := d.Range
		if order != triple.SPO {
			r, _ = f.extend(shared(r)).prefix(triple.SPO)
		}
		replicas = append(replicas, r)
	}
	replicas = union(replicas)
	for _, machine := range j.BaseLive {
		q := &request{epoch: fb.view.Epoch, view: fb.view, replicas: true, filter: f, wait: fb.wait, tick: fb.tick, ranges: replicas}
		if err := fb.eachOf(ctx, q, machine, match); err != nil {
			return err
		}
	}
	fb.degraded.Store(true)
	return nil
}

// eachOf calls each for the rows of a request to one owner.
func (fb fallback) eachOf(ctx context.Context, q *request, machine trie.MachineID, each func(row) error) error {
	f, err := fb.reads.open(ctx, q, machine, firstBudget, fb.reads.options.Ahead, false)
	if err != nil {
		return err
	}
	defer f.close()
	for {
		r, ok, err := f.next()
		if err != nil || !ok {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// spareOrders returns how many of the two other orders need not be read; ok is false if
// live machines may not have all triples, or target is read.
func spareOrders(v *view.View) (orders int, ok bool) {
	j := v.Joint()
	machines := j.Base.Placement.Machines()
	dead := 0
	for _, m := range machines {
		if !j.BaseLive.Contains(m) {
			dead++
		}
	}
	spare := j.Base.Required() - dead - 1
	return min(spare, 2), spare >= 0 && j.Phase != recovery.Serve && len(v.Lost) == 0
}

// otherOrders returns ranges with all triples of dead ranges, for each other order but GSPO. The
// orders with the fewest leading terms come first, because those are the best to leave out.
func otherOrders(order triple.Order, f *filter, dead []indexed) [][]triple.Range {
	type choice struct {
		ranges []triple.Range
		terms  int
	}
	// 1. For each order, find the smallest ranges with all triples of the dead ranges.
	var all []choice
	for _, o := range triple.Orders {
		if o == triple.GSPO || o == order {
			continue
		}
		var c choice
		for _, d := range dead {
			known := f.extend(shared(d.Range))
			r, n := known.prefix(o)
			// A range of POS within one predicate determines a range of objects, so OSP need not
			// be read whole.
			if predicate := known.terms[triple.Predicate]; o == triple.OSP && order == triple.POS && n == 0 && predicate != nil {
				r, n = objectsOf(predicate, d.Range), 1
			}
			c.ranges = append(c.ranges, r)
			c.terms += n
		}
		c.ranges = union(c.ranges)
		all = append(all, c)
	}
	// 2. Sort them by the number of leading terms, because few terms mean many rows.
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(a.terms, b.terms) })
	ranges := make([][]triple.Range, len(all))
	for i, c := range all {
		ranges[i] = c.ranges
	}
	return ranges
}

// objectsOf returns the range of OSP with the objects of a range of POS. All keys of the range
// must have the predicate.
func objectsOf(predicate []byte, dead triple.Range) triple.Range {
	before := append(append([]byte{byte(triple.POS)}, predicate...), 0, 1)
	r := triple.OrderRange(triple.OSP)
	if rest, ok := bytes.CutPrefix(dead.Lo, before); ok {
		r.Lo = append([]byte{byte(triple.OSP)}, rest[:termEnd(rest)]...)
	}
	if rest, ok := bytes.CutPrefix(dead.Hi, before); ok {
		r.Hi = append(append([]byte{byte(triple.OSP)}, rest[:termEnd(rest)]...), 0, 2)
	}
	return r
}

// errTooMuch is returned if the collected rows exceed their memory.
func errTooMuch(limit int64) error {
	return fmt.Errorf("%w: the machine that has a part of what is asked for is dead; what other orders tell of it takes more than %d bytes, ask for less", store.ErrUnavailable, limit)
}

// beginGathering waits until this machine may begin another gathering, because few may run at a time.
// It gives its turn back while it waits, because the running ones need turns to end.
func (r *Reads) beginGathering(ctx context.Context) (end func(), err error) {
	has := false
	end = func() {
		if has {
			<-r.gathering
		}
	}
	err = turns.Wait(ctx, func() error {
		select {
		case r.gathering <- struct{}{}:
			has = true
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}
