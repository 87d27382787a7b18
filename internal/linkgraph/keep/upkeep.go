// Upkeep by the keeper between changes: it builds cells with large deltas again, and writes
// changes to files, because the feed does not keep them for ever.

package keep

import (
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/state"
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

// Tidy starts the upkeep that is due. It must be called between any two steps, because changes
// may never cease.
func (k *Keeper) Tidy() error {
	if !k.working {
		if p := k.largest(); p != nil {
			k.Rebuild(p)
		}
	}
	unsaved := int64(0)
	for _, p := range k.Parts {
		for _, r := range p.Delta.View().Rows() {
			if r.Last() > p.Saved {
				unsaved += int64(len(r.Bytes()))
			}
		}
	}
	if k.unsavedChanges >= savedChanges || unsaved >= savedBytes || k.unsaved >= savedFeed || k.Dirty ||
		time.Since(k.savedTime) >= saveInterval && !k.saved.Reaches(k.At) {
		if err := k.Save(); err != nil {
			return err
		}
	}
	if k.unload() {
		k.publish()
	}
	return nil
}

// largest returns the part with the largest delta, nil if none is too large.
func (k *Keeper) largest() (found *state.Part) {
	most := delta.RebuildShare
	for _, p := range k.Parts {
		v := p.Delta.View()
		changes := int64(0)
		for _, r := range v.Rows() {
			changes += r.Changes(cell.Forward) + r.Changes(cell.Backward) + int64(r.Pages())
		}
		if share := v.Share(); share > most && changes >= rebuildChanges && !p.Failed {
			most, found = share, p
		}
	}
	return found
}

// Rebuild builds a part's cell again in the background. The result is sent to k.rebuilt.
func (k *Keeper) Rebuild(p *state.Part) {
	k.working = true
	v := p.Delta.Freeze()
	k.Running.Go(func() {
		r := Rebuilt{part: p}
		begun := time.Now()
		var data []byte
		var collected []uid.UID
		whole, err := v.Cell().Load(cell.AllStores)
		if r.whole = whole; err != nil {
			err = &lostCell{p, v.Cell(), err}
		} else {
			data, collected, err = v.WithCell(whole).Build(k.Cells.CellOptions(p.Range, 1))
		}
		if err == nil {
			r.cell, err = cell.Open(data)
		}
		r.Collected, r.Err = len(collected), err
		k.Log.Debug("a cell was built anew", "cell", p.Range.String(), "collected", r.Collected, "took", time.Since(begun), "error", err)
		k.Rebuilt <- r
	})
}

// take replaces the cell of a part by the one that was built.
func (k *Keeper) take(r Rebuilt) error {
	if r.Err != nil {
		r.part.Delta.Thaw()
		r.part.Failed = true
		k.lose(r.Err)
		return r.Err
	}
	if err := k.rebase(r); err != nil {
		r.part.Failed = true
		return fmt.Errorf("take the cell of %s: %w", r.part.Range, err)
	}
	r.part.File, r.part.Saved = "", 0
	k.publish()
	if r.Collected > 0 {
		k.Assigner.Forget()
	}
	if err := k.Save(); err != nil {
		return err
	}
	k.unload()
	k.publish()
	return nil
}

// rebase installs the cell that was built. It gets the stores of the one before it when it has a file.
func (k *Keeper) rebase(r Rebuilt) error {
	k.Stores.mu.Lock()
	defer k.Stores.mu.Unlock()
	d := r.part.Delta
	r.part.Unload |= cell.AllStores &^ d.View().Cell().Stores()
	// A page that was collected and has changed since gets its URL from the whole cell.
	if err := d.Replace(r.whole); err != nil {
		return err
	}
	return d.Rebase(r.cell)
}

// RebuildAll builds all cells again that have changes or pages without links, so that the cells alone are
// the graph, and returns them with the forward stores.
func (k *Keeper) RebuildAll() ([]*cell.Cell, error) {
	k.Finish()
	cells := make([]*cell.Cell, len(k.Parts))
	for i, p := range k.Parts {
		if v := p.Delta.View(); len(v.Rows()) > 0 || v.Collectable() {
			k.Rebuild(p)
			r := <-k.Rebuilt
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
func (k *Keeper) forwardCell(p *state.Part) (*cell.Cell, error) {
	c := p.Delta.View().Cell()
	need := int64(c.StoreSize(cell.ForwardStore &^ c.Stores()))
	if err := k.Fits(state.PartsBytes(k.Parts)+need, "the graph with the forward lists for PageRank"); err != nil {
		return nil, err
	}
	n, err := k.Stores.useStores(p, cell.ForwardStore, true)
	k.lose(err)
	return n, err
}
