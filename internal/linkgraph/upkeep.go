// Upkeep by the keeper between changes: it builds cells with large deltas again, and writes
// changes to files, because the feed does not keep them for ever.

package linkgraph

import (
	"bytes"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// rebuildChanges is the number of changes that any delta may have, even of a small cell.
	rebuildChanges = 1 << 10
	// Files are written after savedChanges changes of links, savedBytes bytes of deltas, or
	// savedFeed bytes of changes.
	savedChanges = 1 << 16
	savedBytes   = 16 << 20
	savedFeed    = 24 << 20
	// They are also written after a part of what the feed keeps, because after a restart the
	// feed must reach back to them.
	savedShare = 4
)

// tidy starts the upkeep that is due. It must be called between any two steps, because changes
// may never cease.
func (k *keeper) tidy() error {
	if !k.working {
		if p := k.largest(); p != nil {
			k.rebuild(p)
		}
	}
	unsaved := int64(0)
	for _, p := range k.parts {
		for _, r := range p.delta.View().Rows() {
			if r.Last() > p.saved {
				unsaved += int64(len(r.Bytes()))
			}
		}
	}
	if k.unsavedChanges >= savedChanges || unsaved >= savedBytes || k.unsaved >= savedFeed || k.leaving() {
		return k.save()
	}
	return nil
}

// leaving reports whether the feed may soon trim changes that are not in files.
func (k *keeper) leaving() bool {
	if k.feed == k.saved {
		return false
	}
	keeps := k.store.ChangeFeed().Retention()
	_, added := k.store.ChangeFeed().Size()
	return added-k.savedAt >= keeps.Bytes/savedShare || time.Since(k.savedTime) >= keeps.Age/savedShare
}

// largest returns the part with the largest delta, nil if none is too large.
func (k *keeper) largest() (found *part) {
	most := delta.RebuildShare
	for _, p := range k.parts {
		v := p.delta.View()
		changes := int64(0)
		for _, r := range v.Rows() {
			changes += r.Changes(cell.Forward) + r.Changes(cell.Backward) + int64(r.Pages())
		}
		if share := v.Share(); share > most && changes >= rebuildChanges && !p.failed {
			most, found = share, p
		}
	}
	return found
}

// rebuild builds a part's cell again in the background. The result is sent to k.rebuilt.
func (k *keeper) rebuild(p *part) {
	k.working = true
	v := p.delta.Freeze()
	k.running.Go(func() {
		r := rebuilt{part: p}
		begun := time.Now()
		data, collected, err := v.Build(k.cellOptions(p.Range, 1))
		if err == nil {
			r.cell, err = cell.Open(data)
		}
		r.collected, r.err = len(collected), err
		k.log.Debug("a cell was built anew", "cell", p.Range.String(), "collected", r.collected, "took", time.Since(begun), "error", err)
		k.rebuilt <- r
	})
}

// take replaces the cell of a part by the one that was built.
func (k *keeper) take(r rebuilt) error {
	if r.err != nil {
		r.part.delta.Thaw()
		r.part.failed = true
		return r.err
	}
	if err := r.part.delta.Rebase(r.cell); err != nil {
		r.part.failed = true
		return fmt.Errorf("take the cell of %s: %w", r.part.Range, err)
	}
	r.part.file, r.part.saved = "", 0
	k.publish(k.parts, k.feed)
	if r.collected > 0 {
		k.known.Store(newKnown())
	}
	return k.save()
}

// settle builds all cells with changes again, so that the cells alone are the graph, and
// returns them.
func (k *keeper) settle() ([]*cell.Cell, error) {
	k.finish()
	cells := make([]*cell.Cell, len(k.parts))
	for i, p := range k.parts {
		if len(p.delta.View().Rows()) > 0 {
			k.rebuild(p)
			r := <-k.rebuilt
			k.working = false
			if err := k.take(r); err != nil {
				return nil, err
			}
		}
		cells[i] = p.delta.View().Cell()
	}
	return cells, nil
}

// long returns the page whose IRI has a long term as its form in keys. The triple of its UID
// has it. If that is gone too, the known pages are searched.
func (k *keeper) long(term []byte) (url string, ok bool) {
	// 1. Search the store.
	if url, ok := k.longOfUID(term); ok {
		return url, true
	}
	// 2. Search the cells. If the host is known, one view suffices.
	s := k.current()
	// The term has the first 256 bytes of the IRI: as a rule its host is among them.
	iri := term[1:]
	if end := bytes.IndexByte(iri, 0); end >= 0 {
		iri = iri[:end]
	}
	views := s.views
	if at := bytes.Index(iri, []byte("//")); at >= 0 && bytes.IndexByte(iri[at+2:], '/') >= 0 {
		views = []*delta.View{s.viewOf(weburl.HostKey(string(iri)))}
	}
	for _, v := range views {
		for p := range v.Pages() {
			if !bytes.HasPrefix(p.URL, iri) || len(p.URL) == len(iri) {
				continue
			}
			form, long := triple.AppendTerm(nil, triple.NewIRI(string(p.URL)))
			if long && bytes.Equal(form, term) {
				return string(p.URL), true
			}
		}
	}
	return "", false
}

// longOfUID returns the page with this form in keys that has a UID in the store.
func (k *keeper) longOfUID(term []byte) (url string, ok bool) {
	sn, err := k.store.Snapshot()
	if err != nil {
		return "", false
	}
	defer sn.Close()
	// 1. The rows of its subject and the UID predicate begin with the form.
	predicate, _ := triple.AppendTerm(nil, triple.NewIRI(links.UIDPredicate))
	lo := triple.AppendKeyOf(nil, triple.SPO, term, predicate, nil, nil)
	hi := bytes.Clone(lo)
	hi[len(hi)-1]++ // behind the mark at the end of a term
	rows, err := sn.Rows(k.ctx, triple.Range{Lo: lo, Hi: hi})
	if err != nil {
		return "", false
	}
	defer rows.Close()
	if !rows.SeekGE(lo) || bytes.Compare(rows.Key(), hi) >= 0 {
		return "", false
	}
	// 2. The value has the whole IRI.
	_, terms, err := triple.SplitKey(rows.Key())
	if err == nil {
		terms, err = triple.WholeTerms(terms, rows.Value())
	}
	if err != nil {
		return "", false
	}
	iri, isIRI := iriOf(terms[triple.Subject])
	return string(iri), isIRI
}
