// The rows of a build: those of a lone store's snapshot, or those of a cluster.

package build

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// buildRows reads what cells are made of. Its methods may be called from several goroutines.
type buildRows interface {
	// EstimatePages returns about the number of pages of partitions.
	EstimatePages(ctx context.Context, set derived.Partitions) (int, error)
	// Pages calls do with the pages of a range, in the order of UIDs.
	Pages(ctx context.Context, r uid.Range, do func(pagerows.Page) error) error
	// DivideLinks returns the range of all links in POS, in parts for several goroutines. All rows
	// of a link are in one part.
	DivideLinks(ctx context.Context) ([]triple.Range, error)
	// Links passes the rows of links of a part, each with its label behind it.
	Links(ctx context.Context, part triple.Range, to LinkRows) error
	Close() error
}

// LinkRows receives the rows of links. The slices are valid during a call. A label is that of the
// link of the row before.
type LinkRows interface {
	AddLink(key, value []byte) error
	AddLabel(data []byte) error
}

// OpenBuildRows returns the rows of the node.
func (cm *Maker) OpenBuildRows(ctx context.Context) (buildRows, error) {
	keys, err := pagerows.PredicateRange(cm.Options.Predicate)
	if err != nil {
		return nil, err
	}
	if db := cm.Node.Lone(); db != nil {
		sn, err := db.Snapshot()
		if err != nil {
			return nil, err
		}
		return &LoneRows{Snapshot: sn, Keys: keys, labels: db.Status().Annotations > 0, Workers: cm.Options.Workers}, nil
	}
	r, err := cm.Node.Reader()
	if err != nil {
		return nil, err
	}
	return &clusterRows{Reader: r, keys: keys, predicate: cm.Options.Predicate, labels: cm.Router.Annotated(ctx)}, nil
}

// LoneRows are the rows of a snapshot. Link rows are read raw, because annotations then come
// behind their triple without a search.
type LoneRows struct {
	Snapshot *store.Snapshot
	Keys     triple.Range // of links
	labels   bool         // the store has annotations
	Workers  int
}

// Close implements [buildRows].
func (b *LoneRows) Close() error { return b.Snapshot.Close() }

// EstimatePages implements [buildRows].
func (b *LoneRows) EstimatePages(context.Context, derived.Partitions) (int, error) {
	keys, err := pagerows.UIDRange(uid.AllSlots.Range())
	if err != nil {
		return 0, err
	}
	rows, _, err := b.Snapshot.EstimateRange(keys)
	return int(rows), err
}

// Pages implements [buildRows].
func (b *LoneRows) Pages(ctx context.Context, r uid.Range, do func(pagerows.Page) error) error {
	return pagerows.EachPage(ctx, b.Snapshot.Source(), r, do)
}

// Links implements [buildRows].
func (b *LoneRows) Links(ctx context.Context, part triple.Range, to LinkRows) error {
	var version []byte // the key of the last row of a link, if the store has annotations
	for row, err := range b.Snapshot.Raw(ctx, store.TableStorage, part) {
		if err != nil {
			return err
		}
		switch {
		case triple.IsTombstone(row.Value):
			version = version[:0]
		case !triple.IsAnnotation(row.Value):
			if b.labels {
				version = append(version[:0], row.Key...)
			}
			err = to.AddLink(row.Key, row.Value)
		case len(version) > 0:
			// between a row and its annotations are the rows of the same link in graphs.
			of, id, _ := triple.CutAnnotation(row.Key)
			if string(id) == links.Application && bytes.HasPrefix(version, of) {
				var a triple.Annotation
				if a, err = triple.DecodeAnnotation(row.Value); err == nil && !a.Removed {
					err = to.AddLabel(a.Data)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clusterRows are the rows of a cluster, complete or an error.
type clusterRows struct {
	store.Reader
	keys      triple.Range
	predicate string
	labels    bool // the cluster may have annotations
}

// EstimatePages implements [buildRows].
func (b *clusterRows) EstimatePages(ctx context.Context, set derived.Partitions) (int, error) {
	keys, err := pagerows.UIDRange(uid.AllSlots.Range())
	if err != nil {
		return 0, err
	}
	rows, _, err := b.Source().Estimate(ctx, keys)
	return int(rows) * set.Len() / machine.NumPartitions, err
}

// Pages implements [buildRows].
func (b *clusterRows) Pages(ctx context.Context, r uid.Range, do func(pagerows.Page) error) error {
	return pagerows.EachPage(ctx, b.Source(), r, do)
}

// DivideLinks implements [buildRows]. One goroutine reads all, because the owners send ahead.
func (b *clusterRows) DivideLinks(context.Context) ([]triple.Range, error) {
	return []triple.Range{b.keys}, nil
}

// Links implements [buildRows].
func (b *clusterRows) Links(ctx context.Context, _ triple.Range, to LinkRows) error {
	bounds := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(b.predicate)}}
	for row, err := range b.Range(ctx, bounds, store.ReadOptions{Annotations: b.labels}) {
		if err == nil {
			err = to.AddLink(row.Key, row.Value)
		}
		if err != nil {
			return err
		}
		for _, a := range row.Annotations {
			if a.ApplicationID == links.Application {
				if err := to.AddLabel(a.Data); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
