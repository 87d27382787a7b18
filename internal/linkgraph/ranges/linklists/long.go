// Long lists: their degrees and sketches, without holding them.

package linklists

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// longPartLists bounds the URLs that are held of a long list, as a multiple of
	// Options.LongList.
	longPartLists = 4
	// maxLongScans is the number of long lists that are read concurrently.
	maxLongScans = 2
	// maxSketched is the greatest number of links of a class in a kept sketch. If a sample is
	// larger than earlier ones, the sketch grows up to this size.
	maxSketched = 1 << 14
	// maxSampled is the greatest size of a sample that the owner of a list draws.
	maxSampled = 1 << 22
)

// replyLong replies about a long list from its kept degree and sketch, or else by a scan. If
// the list itself is requested, it sends nothing.
func (o *ownedReply) replyLong(ctx context.Context, i int) error {
	if o.want == wantLists || o.replyFromKept(i) {
		return nil
	}
	if o.lists[i].url == "" {
		o.replies[i].state = repliedURL
		return nil
	}
	g := o.graph
	select {
	case g.longScans <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.longScans }()
	// Another call may have scanned the list while this one waited. Its result is valid only if
	// the epoch and the count of changes are still the same.
	l := o.kept[i]
	g.packed.get(o.keys[i:i+1], o.kept[i:i+1]) // another call may have read it meanwhile
	if now := o.kept[i]; now != nil && now.long() && now.checked.Load() == o.epoch && now.count == g.Store.ChangeCount(now.bucket) && o.replyFromKept(i) {
		return nil
	}
	o.kept[i] = l
	return o.replyByScan(ctx, i)
}

// replyFromKept replies about a long list, and reports whether the kept data suffices.
func (o *ownedReply) replyFromKept(i int) bool {
	l, r := o.kept[i], &o.replies[i]
	if l.degree == unknownDegree {
		return false
	}
	if o.want == wantSamples {
		s := l.sketch.Load()
		if s == nil || o.spec.Mode != sample.ModeConsistent {
			return false
		}
		drawn, ok := s.Sample(o.scratch[:0], o.spec.N, o.spec.Class)
		if !ok {
			return false
		}
		o.scratch, r.packed = drawn, linkkeys.AppendPacked(nil, drawn)
	}
	r.state, r.degree = repliedKnown, l.degree
	return true
}

// replyByScan reads a long list in parts, and replies. If the list changes meanwhile, the reply
// has each part as it was when read. The result is not reused then, because the count of
// changes differs.
func (o *ownedReply) replyByScan(ctx context.Context, i int) error {
	g, r := o.graph, &o.replies[i]
	// 1. Take the count before the scan, because a later change must invalidate the result.
	m := missing{Range: o.rangeOf(i), list: i, bucket: o.kept[i].bucket}
	m.count = g.Store.ChangeCount(m.bucket)
	l := &keptList{bucket: m.bucket, count: m.count}
	c := collector{ownedReply: o, page: o.lists[i].page}
	c.begin()
	// 2. Scan the parts: count the links, and collect the sample.
	first, last := "", ""
	err := g.scanLong(ctx, o.question, m, func(ends []string) error {
		if l.degree == 0 {
			first = ends[0]
		}
		last = ends[len(ends)-1]
		l.degree += len(ends)
		return c.add(ctx, ends)
	})
	if errors.Is(err, errTooMany) {
		r.state = repliedNothing // the machine that requests the list finds out, too
		return nil
	}
	if err != nil {
		return err
	}
	// 3. Fill in the kept list and the reply.
	if o.lists[i].part.Lo != nil {
		l.ends = [2]string{first, last}
	}
	l.sketch.Store(c.sketch)
	l.checked.Store(o.epoch)
	r.state, r.degree = repliedKnown, l.degree
	if o.want == wantSamples {
		if r.packed, err = c.sample(ctx); err != nil {
			return err
		}
	}
	// 4. Keep the list, with the earlier sketch if nothing changed. If UIDs came from other
	// orders, the list is not kept, because it may lack some.
	if before := o.kept[i]; c.sketch == nil && before.count == l.count {
		l.sketch.Store(before.sketch.Load())
	}
	if o.kept[i] = l; !c.degraded {
		g.packed.put(o.keys[i], l)
	}
	return nil
}

// scanLong calls do with the other ends of a list's links, each once, in parts that are read in
// order. No part is empty.
func (g *OwnedLists) scanLong(ctx context.Context, q *question, m missing, do func(ends []string) error) error {
	other := linkkeys.OtherEnd(q.d)
	// Each part is read under the epoch of the question, so a change of owners fails the scan.
	for keys := m.Range; ; {
		var ends []string
		var next []byte
		err := g.Store.ReadOwn(ctx, q.epoch, []triple.Range{keys}, func(ctx context.Context, sn *store.Snapshot) error {
			err := sn.Source().Lookup(ctx, []triple.Range{keys}, func(_ int, key, value []byte) error {
				row, err := linkkeys.DecodeRow(key, value)
				if err != nil {
					return err
				}
				page, ok := row.Iri(triple.Subject + triple.Object - other)
				if !ok || string(page) != q.lists[m.list].url {
					return nil
				}
				end, ok := row.Iri(other)
				// A link in several graphs counts once: its rows are adjacent.
				if !ok || len(ends) > 0 && ends[len(ends)-1] == string(end) {
					return nil
				}
				// The part is full: the next one begins at this key.
				if len(ends) == longPartLists*g.longList {
					next = bytes.Clone(key)
					return rowreader.ErrEnough
				}
				ends = append(ends, string(end))
				return nil
			})
			if errors.Is(err, rowreader.ErrEnough) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		// do must run after the read, because it may take long.
		if len(ends) > 0 {
			if err := do(ends); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		keys.Lo = next
	}
}

// collector makes the requested result of the links of a list.
type collector struct {
	*ownedReply
	page     uid.UID
	degraded bool // some UIDs came from other orders

	// Only one of these is used: sketch for a consistent sample of few links, smallest for one
	// of many, list for a random one.
	sketch   *sample.Sketch
	size     int
	smallest *sample.Smallest
	list     []uid.UID
}

func (c *collector) begin() {
	switch {
	case c.want != wantSamples:
	case c.spec.Mode != sample.ModeConsistent:
	case c.spec.N > maxSketched:
		c.smallest = sample.NewSmallest(c.spec.N)
	default:
		c.size = max(c.spec.N, sample.MaxSketchSize)
	}
}

// add adds the links of one part.
func (c *collector) add(ctx context.Context, ends []string) error {
	if c.want != wantSamples {
		return nil
	}
	// 1. Resolve the UIDs. UID 0 means an invalid URL, so it is dropped.
	uids, degraded, err := c.graph.uids.AssignReporting(ctx, ends)
	if err != nil {
		return err
	}
	c.degraded = c.degraded || degraded
	slices.Sort(uids)
	uids = slices.Compact(uids)
	if len(uids) > 0 && uids[0] == 0 {
		uids = uids[1:]
	}
	// 2. A random sample needs the whole list, so its size must be bounded.
	if c.size == 0 && c.smallest == nil {
		if len(c.list)+len(uids) > c.graph.heldLinks() {
			return errTooMany
		}
		c.list = append(c.list, uids...)
		return nil
	}
	// 3. A consistent sample keeps the smallest links of the class.
	var classes sample.Classes
	if c.size > 0 || c.spec.Class != sample.All {
		h := Hosts{} // only these, because a list may have very many hosts
		if err := c.learn(ctx, h, c.page, uids); err != nil {
			return err
		}
		classes = sample.ClassesOf(h, c.page)
	}
	// Neighbours of one class are added or skipped as a run.
	if c.smallest != nil {
		for len(uids) > 0 {
			n := len(uids)
			if c.spec.Class == sample.All {
				c.smallest.Add(uids...)
			} else {
				var of sample.Class
				if n, of = classes.Run(uids); of >= c.spec.Class {
					c.smallest.Add(uids[:n]...)
				}
			}
			uids = uids[n:]
		}
		return nil
	}
	s := sample.NewSketch(uids, classes, c.size)
	if c.sketch == nil {
		c.sketch = s
	} else {
		c.sketch.Merge(s)
	}
	return nil
}

// sample returns the sample of the added links, packed.
func (c *collector) sample(ctx context.Context) ([]byte, error) {
	var drawn []uid.UID
	switch {
	case c.smallest != nil:
		drawn = c.smallest.Append(nil)
	case c.sketch != nil:
		drawn, _ = c.sketch.Sample(nil, c.spec.N, c.spec.Class) // the sketch is large enough
	case c.size == 0:
		slices.Sort(c.list)
		var h Hosts
		if c.spec.Class != sample.All {
			h = Hosts{}
			if err := c.learn(ctx, h, c.page, c.list); err != nil {
				return nil, err
			}
		}
		drawn = sample.Sample(nil, slices.Compact(c.list), c.page, c.spec, h)
	}
	return linkkeys.AppendPacked([]byte{}, drawn), nil
}
