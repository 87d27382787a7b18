// Assigning UIDs to very many pages: their triples enter the store by a bulk load.

package assign

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Load assigns UIDs to pages, as assign does, but to all of them or to none. The store's feed
// then has a load, after which all cells are built again. So only a build may call this, because it
// starts again behind the load.
func (a *allocators) Load(ctx context.Context, urls []string, memory int64) error {
	if err := a.mark(ctx); err != nil {
		return err
	}
	runs, err := a.number(ctx, urls)
	if err != nil {
		return err
	}
	text := input.Document("UIDs", &uidReader{Runs: runs}, -1, syntax.NQuads)
	_, err = rdfload.Load(ctx, newSink{a.Node.Sink(), a.Node.Lone()}, []input.Source{text}, rdfload.Options{Memory: max(memory, rdfload.MinMemory)})
	if err != nil {
		a.forget() // they may be in the store, or not
		return fmt.Errorf("load the UIDs of %d pages: %w", len(urls), err)
	}
	return nil
}

// newSink is a store's sink that reports an empty store if no page has a UID yet. Then each
// triple of UIDs is new, and the load need not search for it among all links.
type newSink struct {
	rdfload.Sink
	store *store.Store
}

// Begin implements [rdfload.Sink].
func (s newSink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	start, err := s.Sink.Begin(ctx, id)
	if err != nil || start.Existing == nil {
		return start, err
	}
	any, err := s.anyUIDs(ctx)
	if err != nil || !any {
		err = errors.Join(err, start.Existing.Close())
		start.Existing = nil
	}
	return start, err
}

// anyUIDs reports whether there is a triple of a page's UID or of an extent's host.
func (s newSink) anyUIDs(ctx context.Context) (any bool, err error) {
	sn, err := s.store.Snapshot()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	for _, predicate := range []string{links.UIDPredicate, links.HostPredicate} {
		r, err := pagerows.PredicateRange(predicate)
		if err != nil {
			return false, err
		}
		rows, err := sn.Rows(ctx, r)
		if err != nil {
			return false, err
		}
		any = any || rows.First()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return false, err
		}
	}
	return any, nil
}

// uidReader reads the triples of UIDs as N-Quads.
type uidReader struct {
	Runs []Numbered
	at   int    // pages of the first run that are in text or were read
	text []byte // not read yet
	rest []byte // the unread part of text
}

const uidTextBytes = 64 << 10

// Read implements [io.Reader].
func (r *uidReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		r.fill()
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *uidReader) fill() {
	r.text = r.text[:0]
	for len(r.Runs) > 0 && len(r.text) < uidTextBytes {
		run := &r.Runs[0]
		if r.at == 0 && run.First.Page() == 0 {
			r.text = triple.AppendNQuad(r.text, links.HostTriple(run.First.Extent(), run.Pages[0].Key))
		}
		for ; r.at < len(run.Pages) && len(r.text) < uidTextBytes; r.at++ {
			r.text = triple.AppendNQuad(r.text, links.UIDTriple(run.Pages[r.at].URL, run.First+uid.UID(r.at)))
		}
		if r.at == len(run.Pages) {
			r.Runs, r.at = r.Runs[1:], 0
		}
	}
	r.rest = r.text
}
