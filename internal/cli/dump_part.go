package cli

// This file dumps what one machine of a cluster has: of a directory that was set
// aside, or of one whose cluster is no more.

import (
	"bytes"
	"errors"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// dumpPart writes each triple that any order or extra replica in the directory has.
func (c *dumpCmd) dumpPart(e *env, write func([]byte, item) ([]byte, error)) (err error) {
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
	p := &part{e: e, snapshot: snapshot}
	return writeItems(e, &listing{items: p.items}, write)
}

// part is what one machine has.
type part struct {
	e        *env
	snapshot *node.Snapshot
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
		if !yield(remoteItem(t), err) || err != nil {
			return false
		}
	}
	return true
}

// has tells whether one of the orders has a row of a triple.
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
