// trefoil dump: of a store, or of the directory of one member.

package rdf

import (
	"bytes"
	"errors"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// DumpCmd writes all triples of a store in SPO order, with their annotations.
type DumpCmd struct {
	target.StoreFlags
	documents.OutputFlags
	Part bool `help:"With --data of a cluster's member, or of what one has set aside: write what is there. It may be a part, and what was deleted since is in it."`
}

func (c *DumpCmd) Run(e *console.Env) error { return c.WithOutput(e, c.dump) }

func (c *DumpCmd) dump(e *console.Env) error {
	// 1. Choose the store: a part of a cluster, or a whole one.
	counted := console.NewCountedWriter(e.Stdout)
	to := *e
	to.Stdout, e = counted, &to
	defer e.Working("dump", counted.Written)()
	switch local, err := c.Local(); {
	case err != nil:
		return err
	case c.Part && !local:
		return console.Usagef("--part is for --data: a server answers for the whole cluster")
	case c.Part:
		return c.dumpPart(e)
	}
	// 2. Write its triples.
	return c.With(e, target.Reading, func(s target.Store) error { return c.dumpWhole(e, s) })
}

func (c *DumpCmd) dumpWhole(e *console.Env, from target.Store) error {
	format, err := c.Syntax()
	if err != nil {
		return err
	}
	names, err := target.OutputNames(e, from.Prefixes, format, nil)
	if err != nil {
		return err
	}
	out, err := c.OutputFlags.Open(e.Stdout, c.Annotations, names)
	if err != nil {
		return err
	}
	return out.WriteAll(e, from.ListMatches(e.Ctx, triple.Pattern{}, target.Page{Annotations: c.Annotations}))
}

// dumpPart writes each triple with a row in any order or extra copy of the directory.
func (c *DumpCmd) dumpPart(e *console.Env) (err error) {
	out, err := c.OutputFlags.Open(e.Stdout, c.Annotations, nil)
	if err != nil {
		return err
	}
	snapshot, end, err := target.OpenMember(c.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	p := &part{e: e, snapshot: snapshot, annotations: c.Annotations}
	return out.WriteAll(e, &target.Listing{Items: p.items})
}

// part is the data of one machine.
type part struct {
	e        *console.Env
	snapshot *store.Snapshot

	annotations bool
}

// items yields the triples of one order after the other, and then of the extra copies. A triple is
// skipped if an earlier order has a row of it, also if that row is a tombstone.
func (p *part) items(yield func(target.Statement, error) bool) {
	for i, order := range triple.Orders {
		if !p.rows(store.TableStorage, order, triple.Orders[:i], yield) {
			return
		}
	}
	p.rows(store.TableReplica, triple.SPO, triple.Orders[:], yield)
}

func (p *part) rows(table byte, order triple.Order, before []triple.Order, yield func(target.Statement, error) bool) (goesOn bool) {
	// A row is a triple if it is neither an annotation nor a tombstone, and no earlier order has
	// it.
	for row, err := range p.snapshot.Raw(p.e.Ctx, table, triple.OrderRange(order)) {
		if err != nil {
			yield(target.Statement{}, err)
			return false
		}
		if _, _, isAnnotation := triple.CutAnnotation(row.Key); isAnnotation || triple.IsTombstone(row.Value) {
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
		it := target.Statement{Triple: t}
		if err == nil && p.annotations {
			it.Attached, err = p.annotationsOf(table, row.Key)
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
	for row, err := range p.snapshot.Raw(p.e.Ctx, table, triple.Range{Lo: lower, Hi: upper}) {
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
		for row, err := range p.snapshot.Raw(p.e.Ctx, store.TableStorage, triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}) {
			return err == nil && bytes.Equal(row.Key, key), err
		}
	}
	return false, nil
}
