// The rows of a build: those of a lone store's snapshot, or those of a cluster.

package linkgraph

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// buildRows reads what cells are made of. Its methods may be called from several goroutines.
type buildRows interface {
	// EstimatePages returns about the number of pages of partitions.
	EstimatePages(ctx context.Context, set partitionSet) (int, error)
	// Pages calls do with the pages of a range, in the order of UIDs.
	Pages(ctx context.Context, r uid.Range, do func(page) error) error
	// DivideLinks returns the range of all links in POS, in parts for several goroutines. All rows
	// of a link are in one part.
	DivideLinks(ctx context.Context) ([]triple.Range, error)
	// Links passes the rows of links of a part, each with its label behind it.
	Links(ctx context.Context, part triple.Range, to linkRows) error
	Close() error
}

// linkRows receives the rows of links. The slices are valid during a call. A label is that of the
// link of the row before.
type linkRows interface {
	addLink(key, value []byte) error
	addLabel(data []byte) error
}

// openBuildRows returns the rows of the node.
func (cm *cellMaker) openBuildRows(ctx context.Context) (buildRows, error) {
	keys, err := predicateRange(cm.o.Predicate)
	if err != nil {
		return nil, err
	}
	f, err := cm.forms.form(ctx)
	if err != nil {
		return nil, err
	}
	if db := cm.node.Lone(); db != nil {
		sn, err := db.Snapshot()
		if err != nil {
			return nil, err
		}
		return &loneRows{form: f, snapshot: sn, keys: keys, labels: db.Status().Annotations > 0, workers: cm.o.Workers}, nil
	}
	r, err := cm.node.Reader()
	if err != nil {
		return nil, err
	}
	return &clusterRows{form: f, Reader: r, keys: keys, predicate: cm.o.Predicate, labels: cm.router.annotated(ctx)}, nil
}

// loneRows are the rows of a snapshot. Link rows are read raw, because annotations then come
// behind their triple without a search.
type loneRows struct {
	form
	snapshot *store.Snapshot
	keys     triple.Range // of links
	labels   bool         // the store has annotations
	workers  int
}

// Close implements [buildRows].
func (b *loneRows) Close() error { return b.snapshot.Close() }

// EstimatePages implements [buildRows].
func (b *loneRows) EstimatePages(context.Context, partitionSet) (int, error) {
	keys, err := b.uidRange(uid.AllSlots.Range())
	if err != nil {
		return 0, err
	}
	rows, _, err := b.snapshot.EstimateRange(keys)
	return int(rows), err
}

// Pages implements [buildRows].
func (b *loneRows) Pages(ctx context.Context, r uid.Range, do func(page) error) error {
	return b.eachPage(ctx, b.snapshot.Source(), r, do)
}

// Links implements [buildRows].
func (b *loneRows) Links(ctx context.Context, part triple.Range, to linkRows) error {
	var version []byte // the key of the last row of a link, if the store has annotations
	for row, err := range b.snapshot.Raw(ctx, store.TableStorage, part) {
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
			err = to.addLink(row.Key, row.Value)
		case len(version) > 0:
			// Between a row and its annotations are the rows of the same link in graphs.
			of, id, _ := triple.CutAnnotation(row.Key)
			if string(id) == application && bytes.HasPrefix(version, of) {
				var a triple.Annotation
				if a, err = triple.DecodeAnnotation(row.Value); err == nil && !a.Removed {
					err = to.addLabel(a.Data)
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
	form
	store.Reader
	keys      triple.Range
	predicate string
	labels    bool // the cluster may have annotations
}

// annotated reports whether any member has annotations, or does not answer. Reading them costs a
// message for each batch of rows.
func (r *router) annotated(ctx context.Context) bool {
	v := r.node.View()
	if v == nil || r.node.Annotated() {
		return true
	}
	for _, m := range v.Members {
		if m.ID == r.node.MachineID() {
			continue
		}
		if a, err := r.send(ctx, m.ID, &query{kind: askAnnotated}); err != nil || a.number > 0 {
			return true
		}
	}
	return false
}

// EstimatePages implements [buildRows].
func (b *clusterRows) EstimatePages(ctx context.Context, set partitionSet) (int, error) {
	keys, err := b.uidRange(uid.AllSlots.Range())
	if err != nil {
		return 0, err
	}
	rows, _, err := b.Source().Estimate(ctx, keys)
	return int(rows) * set.len() / numPartitions, err
}

// Pages implements [buildRows].
func (b *clusterRows) Pages(ctx context.Context, r uid.Range, do func(page) error) error {
	return b.eachPage(ctx, b.Source(), r, do)
}

// DivideLinks implements [buildRows]. One goroutine reads all, because the owners send ahead.
func (b *clusterRows) DivideLinks(context.Context) ([]triple.Range, error) {
	return []triple.Range{b.keys}, nil
}

// Links implements [buildRows].
func (b *clusterRows) Links(ctx context.Context, _ triple.Range, to linkRows) error {
	bounds := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(b.predicate)}}
	for row, err := range b.Range(ctx, bounds, store.ReadOptions{Annotations: b.labels}) {
		if err == nil {
			err = to.addLink(row.Key, row.Value)
		}
		if err != nil {
			return err
		}
		for _, a := range row.Annotations {
			if a.ApplicationID == application {
				if err := to.addLabel(a.Data); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
