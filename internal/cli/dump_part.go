package cli

// This file dumps what one machine of a cluster has: of a directory that was set
// aside, or of one whose cluster is no more.

import (
	"bytes"
	"errors"
	"io"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// dumpPart writes each triple that any order or extra replica in the directory has.
func (c *dumpCmd) dumpPart(e *env, header string, write func([]byte, item) ([]byte, error)) (err error) {
	store, err := openStore(c.Data, node.Options{ReadOnly: true, Member: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	snapshot, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if _, err := io.WriteString(e.stdout, header); err != nil {
		return err
	}
	p := &part{e: e, snapshot: snapshot, annotations: c.Annotations}
	return writeItems(e, &listing{items: p.items}, write)
}

// part is what one machine has.
type part struct {
	e        *env
	snapshot *node.Snapshot

	annotations bool
}

// items yields the triples of one order after the other, and then of the extra
// replicas: those that no order before has a row of. A row that tells of a delete
// is one, too.
func (p *part) items(yield func(item, error) bool) {
	for i, order := range triple.Orders {
		if !p.rows(node.TableStorage, order, triple.Orders[:i], yield) {
			return
		}
	}
	p.rows(node.TableReplica, triple.SPO, triple.Orders[:], yield)
}

func (p *part) rows(table byte, order triple.Order, before []triple.Order, yield func(item, error) bool) (goesOn bool) {
	for row, err := range p.snapshot.Raw(p.e.ctx, table, triple.OrderRange(order)) {
		if err != nil {
			yield(nil, err)
			return false
		}
		if _, _, noted := triple.CutAnnotation(row.Key); noted || triple.IsTombstone(row.Value) {
			continue
		}
		_, t, err := triple.DecodeKey(row.Key, row.Value)
		known := false
		if err == nil {
			known, err = p.has(t, before)
		}
		if err == nil && known {
			continue
		}
		it := remoteItem{Triple: t}
		if err == nil && p.annotations {
			it.noted, err = p.annotationsOf(table, row.Key)
		}
		if !yield(it, err) || err != nil {
			return false
		}
	}
	return true
}

// annotationsOf returns the annotations beside a version.
func (p *part) annotationsOf(table byte, version []byte) (all []triple.ApplicationData, err error) {
	lower, upper := triple.AnnotationBounds(version)
	for row, err := range p.snapshot.Raw(p.e.ctx, table, triple.Range{Lo: lower, Hi: upper}) {
		if err != nil {
			return nil, err
		}
		a, err := triple.DecodeAnnotation(row.Value)
		if err != nil {
			return nil, err
		}
		if !a.Removed {
			all = append(all, triple.ApplicationData{ApplicationID: string(row.Key[len(lower):]), Data: bytes.Clone(a.Data)})
		}
	}
	return all, nil
}

// has reports whether one of the orders has a row of a triple.
func (p *part) has(t triple.Triple, orders []triple.Order) (bool, error) {
	for _, o := range orders {
		if o == triple.GSPO && t.Graph.IsZero() {
			continue
		}
		key, _ := triple.AppendKey(nil, o, t)
		for row, err := range p.snapshot.Raw(p.e.ctx, node.TableStorage, triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}) {
			return err == nil && bytes.Equal(row.Key, key), err
		}
	}
	return false, nil
}
