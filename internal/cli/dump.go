// trefoil dump: of a store, or of the directory of one member.

package cli

import (
	"bytes"
	"errors"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// dumpCmd writes all triples of a store in SPO order, with their annotations.
type dumpCmd struct {
	storeFlags
	outputFlags
	Part bool `help:"With --data of a cluster's member, or of what one has set aside: write what is there. It may be a part, and what was deleted since is in it."`
}

func (c *dumpCmd) Run(e *env) error { return c.into(e, c.dump) }

func (c *dumpCmd) dump(e *env) error {
	// 1. Choose the store: a part of a cluster, or a whole one.
	counted := newCountedWriter(e.stdout)
	to := *e
	to.stdout, e = counted, &to
	defer e.working("dump", counted.written)()
	switch local, err := c.local(); {
	case err != nil:
		return err
	case c.Part && !local:
		return usagef("--part is for --data: a server answers for the whole cluster")
	case c.Part:
		return c.dumpPart(e)
	}
	// 2. Write its triples.
	return c.with(e, reading, func(s target) error { return c.dumpWhole(e, s) })
}

func (c *dumpCmd) dumpWhole(e *env, from target) error {
	format, err := c.syntax()
	if err != nil {
		return err
	}
	names, err := outputNames(e, from, format, nil)
	if err != nil {
		return err
	}
	out, err := c.outputFlags.open(e.stdout, c.Annotations, names)
	if err != nil {
		return err
	}
	return out.writeAll(e, from.match(e.ctx, triple.Pattern{}, page{annotations: c.Annotations}))
}

// dumpPart writes each triple with a row in any order or extra copy of the directory.
func (c *dumpCmd) dumpPart(e *env) (err error) {
	out, err := c.outputFlags.open(e.stdout, c.Annotations, nil)
	if err != nil {
		return err
	}
	snapshot, end, err := openMember(e, c.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	p := &part{e: e, snapshot: snapshot, annotations: c.Annotations}
	return out.writeAll(e, &listing{items: p.items})
}

// part is the data of one machine.
type part struct {
	e        *env
	snapshot *store.Snapshot

	annotations bool
}

// items yields the triples of one order after the other, and then of the extra copies. A triple is
// skipped if an earlier order has a row of it, also if that row is a tombstone.
func (p *part) items(yield func(item, error) bool) {
	for i, order := range triple.Orders {
		if !p.rows(store.TableStorage, order, triple.Orders[:i], yield) {
			return
		}
	}
	p.rows(store.TableReplica, triple.SPO, triple.Orders[:], yield)
}

func (p *part) rows(table byte, order triple.Order, before []triple.Order, yield func(item, error) bool) (goesOn bool) {
	// A row is a triple if it is neither an annotation nor a tombstone, and no earlier order has
	// it.
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
		if err == nil && (known || t == systemgraph.PrefixRow || systemgraph.IsLink(t)) {
			continue
		}
		it := statement{Triple: t}
		if err == nil && p.annotations {
			it.noted, err = p.annotationsOf(table, row.Key)
		}
		if !yield(it, err) || err != nil {
			return false
		}
	}
	return true
}

// annotationsOf returns the annotations beside a row.
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
		for row, err := range p.snapshot.Raw(p.e.ctx, store.TableStorage, triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}) {
			return err == nil && bytes.Equal(row.Key, key), err
		}
	}
	return false, nil
}
