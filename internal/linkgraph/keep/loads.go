// The links of bulk loads: the feed has a load as one change, and its rows have the load's stamp.

package keep

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/build"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// loads is the bulk loads among changes. Their links are not read yet.
type loads struct {
	predicate string         // of links
	most      int64          // rows
	Stamps    []triple.Stamp // of their rows
	rows      int64          // rows of links and of labels
}

// add adds a load. It returns false if the cells must be built again: the load has UIDs, or very
// many links, or it is not known what it has.
func (l *loads) add(c *feed.Change) bool {
	p := c.Load.Predicates
	l.rows += p[l.predicate]
	l.Stamps = append(l.Stamps, c.RowStamps()...)
	return p != nil && p[links.UIDPredicate] == 0 && l.rows <= l.most
}

// readLoads adds the links of the loads among changes. It reads the rows of all links for them. The
// links that exist now are right in any order with other changes. If a link of a load was deleted or
// written again since, its row is gone or has another stamp, and the later change is in the feed. So
// readers must not see a state before the position at which the rows were read.
func (k *Keeper) readLoads(ctx context.Context, t *Taken) error {
	if len(t.Loads.Stamps) == 0 {
		return nil
	}
	rows, err := k.Cells.OpenBuildRows(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	parts, err := rows.DivideLinks(ctx)
	if err != nil {
		return err
	}
	// 1. Each worker reads parts until none is left.
	readers := make([]*loadReader, min(k.Options.Workers, len(parts)))
	errs := make([]error, len(readers))
	var next atomic.Int64
	var group sync.WaitGroup
	for i := range readers {
		r := &loadReader{stamps: t.Loads.Stamps}
		readers[i] = r
		group.Go(func() {
			for at := int(next.Add(1) - 1); at < len(parts) && errs[i] == nil; at = int(next.Add(1) - 1) {
				errs[i] = errors.Join(rows.Links(ctx, parts[at], r), r.flush())
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	end, err := k.Node.Feed().Position(ctx)
	if err != nil {
		return err
	}
	k.Hold = end
	// 2. Their links become changes.
	for _, r := range readers {
		t.mixed = t.mixed || r.mixed
		for _, l := range r.links {
			t.Changes = append(t.Changes, change{Kind: feed.Add, src: t.page(l.src), Dst: t.page(l.dst), label: l.label, loaded: true})
			t.size += len(l.label)
		}
	}
	return nil
}

// loadReader collects the links whose rows have one of some stamps. It implements LinkRows.
type loadReader struct {
	stamps []triple.Stamp
	links  []loadedLink

	key    []byte // of the last link, without a graph
	last   loadedLink
	loaded bool // the last link has a row of the loads
	mixed  bool // a row of the loads is not plain, see state/plain.go
}

// loadedLink is a link of a load, with its encoded label.
type loadedLink struct{ src, dst, label []byte }

// AddLink implements LinkRows.
func (r *loadReader) AddLink(key, value []byte) error {
	v, err := triple.DecodeValue(value)
	if err != nil {
		return err
	}
	// 1. A link may have several rows, in graphs. Its label may come behind each.
	if link, err := build.WithoutGraph(key); err != nil || !bytes.Equal(link, r.key) {
		if err := errors.Join(err, r.flush()); err != nil {
			return err
		}
		r.key = append(r.key[:0], link...)
	}
	// 2. One of its rows must be of a load.
	if !slices.Contains(r.stamps, v.Stamp) {
		return nil
	}
	l, ok, err := pagerows.LinkOf(key, value)
	r.mixed = r.mixed || !ok || l.Named
	if ok && !r.loaded {
		r.loaded = true
		r.last.src, r.last.dst = bytes.Clone(l.Src), bytes.Clone(l.Dst)
	}
	return err
}

// AddLabel implements LinkRows.
func (r *loadReader) AddLabel(data []byte) error {
	r.last.label = bytes.Clone(data)
	return nil
}

// flush ends the last link.
func (r *loadReader) flush() error {
	if r.loaded {
		r.links = append(r.links, r.last)
	}
	r.last, r.loaded, r.key = loadedLink{}, false, r.key[:0]
	return nil
}
