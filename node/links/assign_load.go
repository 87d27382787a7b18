// Giving UIDs to very many pages: their triples enter the store by a bulk load.

package links

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// loadedPages is from how many pages on a bulk load is faster than commits, most of
// whose cost is compactions: UIDs lie among all other triples.
const loadedPages = 50_000

// load gives UIDs to pages, as assign does, but to all of them at once or to none. The
// store's feed then has an entry that anything may have changed: only a build, which
// begins again behind it, may do this.
func (a *assigner) load(ctx context.Context, urls []string, memory int64) error {
	runs, err := a.number(ctx, urls)
	if err != nil {
		return err
	}
	text := rdfload.Document("UIDs", &uidReader{runs: runs}, -1, syntax.NTriples)
	_, err = rdfload.Load(ctx, newSink{a.store.Sink(), a.store}, []rdfload.Source{text}, rdfload.Options{Memory: max(memory, rdfload.MinMemory)})
	if err != nil {
		a.forget() // they may be in the store, or not
		return fmt.Errorf("load the UIDs of %d pages: %w", len(urls), err)
	}
	return nil
}

// newSink is a store's sink that, where no page has a UID yet, says that the store holds
// nothing: each triple of UIDs is new then, and need not be looked for among all links.
type newSink struct {
	rdfload.Sink
	store *node.Store
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
		r, err := predicateRange(predicate)
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

// uidReader is the triples of UIDs as N-Triples.
type uidReader struct {
	runs []numbered
	at   int    // pages of the first run that are in text or were read
	text []byte // not read yet
	rest []byte // of text
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
	for len(r.runs) > 0 && len(r.text) < uidTextBytes {
		run := &r.runs[0]
		if r.at == 0 && run.first.Page() == 0 {
			r.text = triple.AppendNQuad(r.text, links.HostTriple(run.first.Extent(), run.pages[0].key))
		}
		for ; r.at < len(run.pages) && len(r.text) < uidTextBytes; r.at++ {
			r.text = triple.AppendNQuad(r.text, links.UIDTriple(run.pages[r.at].url, run.first+uid.UID(r.at)))
		}
		if r.at == len(run.pages) {
			r.runs, r.at = r.runs[1:], 0
		}
	}
	r.rest = r.text
}
