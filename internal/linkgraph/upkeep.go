// Upkeep by the keeper between changes: it builds cells with large deltas again, and writes
// changes to files, because the feed does not keep them for ever.

package linkgraph

import (
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// rebuildChanges is the number of changes that any delta may have, even of a small cell.
	rebuildChanges = 1 << 10
	// Files are written after savedChanges changes of links, savedBytes bytes of deltas, or
	// savedFeed bytes of changes.
	savedChanges = 1 << 16
	savedBytes   = 16 << 20
	savedFeed    = 24 << 20
	// They are also written at this interval, because after a restart the feed must reach back to
	// them.
	saveInterval = time.Minute
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
	if k.unsavedChanges >= savedChanges || unsaved >= savedBytes || k.unsaved >= savedFeed || k.dirty ||
		time.Since(k.savedTime) >= saveInterval && !k.saved.Reaches(k.at) {
		if err := k.save(); err != nil {
			return err
		}
	}
	if k.unload() {
		k.publish()
	}
	return nil
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
		var data []byte
		var collected []uid.UID
		whole, err := v.Cell().Load(cell.AllStores)
		if r.whole = whole; err != nil {
			err = &lostCell{p, v.Cell(), err}
		} else {
			data, collected, err = v.WithCell(whole).Build(k.cells.cellOptions(p.Range, 1))
		}
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
		k.lose(r.err)
		return r.err
	}
	if err := k.rebase(r); err != nil {
		r.part.failed = true
		return fmt.Errorf("take the cell of %s: %w", r.part.Range, err)
	}
	r.part.file, r.part.saved = "", 0
	k.publish()
	if r.collected > 0 {
		k.assigner.forget()
	}
	if err := k.save(); err != nil {
		return err
	}
	k.unload()
	k.publish()
	return nil
}

// rebase installs the cell that was built. It gets the stores of the one before it when it has a file.
func (k *keeper) rebase(r rebuilt) error {
	k.stores.mu.Lock()
	defer k.stores.mu.Unlock()
	d := r.part.delta
	r.part.unload |= cell.AllStores &^ d.View().Cell().Stores()
	// A page that was collected and has changed since gets its URL from the whole cell.
	if err := d.Replace(r.whole); err != nil {
		return err
	}
	return d.Rebase(r.cell)
}

// settle builds all cells again that have changes or pages without links, so that the cells alone are
// the graph, and returns them with the forward stores.
func (k *keeper) settle() ([]*cell.Cell, error) {
	k.finish()
	cells := make([]*cell.Cell, len(k.parts))
	for i, p := range k.parts {
		if v := p.delta.View(); len(v.Rows()) > 0 || v.Collectable() {
			k.rebuild(p)
			r := <-k.rebuilt
			k.working = false
			if err := k.take(r); err != nil {
				return nil, err
			}
		}
		var err error
		if cells[i], err = k.forwardCell(p); err != nil {
			return nil, err
		}
	}
	k.publish()
	return cells, nil
}

// forwardCell returns the cell of a part with its forward store, which stays in memory.
func (k *keeper) forwardCell(p *part) (*cell.Cell, error) {
	c := p.delta.View().Cell()
	need := int64(c.StoreSize(cell.ForwardStore &^ c.Stores()))
	if err := k.fits(partsBytes(k.parts)+need, "the graph with the forward lists for PageRank"); err != nil {
		return nil, err
	}
	n, err := k.stores.useStores(p, cell.ForwardStore, true)
	k.lose(err)
	return n, err
}
