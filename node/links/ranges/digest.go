// Long lists: what is told of them where they are read, without holding them.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// digestedLists is how many links of a long list are held by their URLs, in lists that
	// are just not long.
	digestedLists = 4
	// digestedAtOnce is how many long lists are read at a time.
	digestedAtOnce = 2
	// maxSketched is how many links of a class a sketch holds that is kept: a larger
	// sample than those before makes a larger one.
	maxSketched = 1 << 14
	// maxSampled is how many links a sample has at most that the owner of a list draws.
	maxSampled = 1 << 22
)

// answerLong answers about a list that is long: from what is kept of it, or else by
// reading it. It is not answered itself.
func (o *owning) answerLong(ctx context.Context, i int) error {
	if o.want == wantLists || o.fromKept(i) {
		return nil
	}
	if o.lists[i].url == "" {
		o.replies[i].state = repliedURL
		return nil
	}
	g := o.graph
	select {
	case g.digesting <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.digesting }()
	l := o.kept[i]
	g.packed.get(o.keys[i:i+1], o.kept[i:i+1]) // somebody may have read it meanwhile
	if now := o.kept[i]; now != nil && now.long() && now.checked.Load() == o.epoch && now.count == g.store.ChangeCount(now.bucket) && o.fromKept(i) {
		return nil
	}
	o.kept[i] = l
	return o.digest(ctx, i)
}

// fromKept answers about a long list, if what is kept of it tells.
func (o *owning) fromKept(i int) bool {
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
		o.scratch, r.packed = drawn, appendPacked(nil, drawn)
	}
	r.state, r.degree = repliedKnown, l.degree
	return true
}

// digest reads a long list in parts, and answers. A list that changes meanwhile is told
// as its parts were when they were read, and not kept: its count is another one then.
func (o *owning) digest(ctx context.Context, i int) error {
	g, r := o.graph, &o.replies[i]
	m := missing{Range: o.rangeOf(i), list: i, bucket: o.kept[i].bucket}
	m.count = g.store.ChangeCount(m.bucket)
	l := &keptList{bucket: m.bucket, count: m.count}
	c := collector{owning: o, page: o.lists[i].page}
	c.begin()
	first, last := "", ""
	err := g.walk(ctx, o.question, m, func(ends []string) error {
		if l.degree == 0 {
			first = ends[0]
		}
		last = ends[len(ends)-1]
		l.degree += len(ends)
		return c.add(ctx, ends)
	})
	if errors.Is(err, errTooMany) {
		r.state = repliedNothing // whoever asks finds out, too
		return nil
	}
	if err != nil {
		return err
	}
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
	if before := o.kept[i]; c.sketch == nil && before.count == l.count {
		l.sketch.Store(before.sketch.Load())
	}
	if o.kept[i] = l; !c.degraded {
		g.packed.put(o.keys[i], l)
	}
	return nil
}

// walk calls do with the other ends of a list's links, each once, in parts that are read
// one after the other. None of these is empty.
func (g *Graph) walk(ctx context.Context, q *question, m missing, do func(ends []string) error) error {
	other := far(q.d)
	for keys := m.Range; ; {
		var ends []string
		var next []byte
		err := g.store.ReadOwn(ctx, q.epoch, []triple.Range{keys}, func(ctx context.Context, sn *node.Snapshot) error {
			err := sn.Source().Lookup(ctx, []triple.Range{keys}, func(_ int, key, value []byte) error {
				row, err := rowOf(key, value)
				if err != nil {
					return err
				}
				page, ok := row.iri(triple.Subject + triple.Object - other)
				if !ok || string(page) != q.lists[m.list].url {
					return nil
				}
				end, ok := row.iri(other)
				// A link in several graphs is one: its rows are beside each other.
				if !ok || len(ends) > 0 && ends[len(ends)-1] == string(end) {
					return nil
				}
				if len(ends) == digestedLists*g.o.LongList {
					next = bytes.Clone(key)
					return errEnough
				}
				ends = append(ends, string(end))
				return nil
			})
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
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

// collector makes of the links of a list what is asked for.
type collector struct {
	*owning
	page     uid.UID
	degraded bool // some UIDs came from other orders

	// One of these, for a consistent sample of few links, of many, and for a random one.
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

// add takes links in.
func (c *collector) add(ctx context.Context, ends []string) error {
	if c.want != wantSamples {
		return nil
	}
	uids, degraded, err := c.graph.namedOf(ctx, ends)
	if err != nil {
		return err
	}
	c.degraded = c.degraded || degraded
	slices.Sort(uids)
	uids = slices.Compact(uids)
	if len(uids) > 0 && uids[0] == 0 {
		uids = uids[1:]
	}
	if c.size == 0 && c.smallest == nil {
		if len(c.list)+len(uids) > c.graph.heldLinks() {
			return errTooMany
		}
		c.list = append(c.list, uids...)
		return nil
	}
	var classes sample.Classes
	if c.size > 0 || c.spec.Class != sample.All {
		h := hosts{} // of these links only: there may be very many
		if err := c.learn(ctx, h, c.page, uids); err != nil {
			return err
		}
		classes = sample.ClassesOf(h, c.page)
	}
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

// sample returns the sample of what was added, packed.
func (c *collector) sample(ctx context.Context) ([]byte, error) {
	var drawn []uid.UID
	switch {
	case c.smallest != nil:
		drawn = c.smallest.Append(nil)
	case c.sketch != nil:
		drawn, _ = c.sketch.Sample(nil, c.spec.N, c.spec.Class) // it holds as many
	case c.size == 0:
		slices.Sort(c.list)
		var h hosts
		if c.spec.Class != sample.All {
			h = hosts{}
			if err := c.learn(ctx, h, c.page, c.list); err != nil {
				return nil, err
			}
		}
		drawn = sample.Sample(nil, slices.Compact(c.list), c.page, c.spec, h)
	}
	return appendPacked([]byte{}, drawn), nil
}
