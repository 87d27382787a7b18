// Stores: which parts of the cells are in memory, and loading the others from files.

package keep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

// Each cell has its URLs, forward lists and backward lists in memory, or in its file alone:
//
//   - Graph.Relinquish makes the keeper drop stores of all cells. A cell without a file gets one first.
//   - A read calls State.With for the stores that it needs. What is missing is loaded from the files,
//     one cell at a time, and stays until it is relinquished again.
//   - What the keeper needs for changes or to build a cell again is loaded for that alone.
//   - A new cell has the stores of the cell that it replaces. Other new cells have those that are not
//     relinquished.
//
// If a file cannot be read, its partition is dropped, and made again as if it had never been there.

// Stores is which stores of cells are in memory.
type Stores struct {
	Board *state.Board
	// mu must be held while a state is published, while the cell of a delta is replaced, and for what
	// follows. It must be taken for moments only.
	mu           sync.Mutex
	relinquished cell.Stores // new cells drop these
}

// Loader loads stores for reads, and requests and relinquishes them for clients.
type Loader struct {
	*machine.Machine
	Board   *state.Board
	Stores  *Stores
	Keeper  *Keeper
	Loading derived.Lock // held while a read loads a cell
}

// errReplaced reports that a cell was replaced while its file was read.
var errReplaced = errors.New("the cell was built again meanwhile")

// LoadStores implements storeLoader.
func (l *Loader) LoadStores(ctx context.Context, s *state.State, need cell.Stores, set derived.Partitions, keep bool) (*state.State, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		lacking := s.Missing(need, set&s.Held)
		if lacking == 0 {
			return s, nil
		}
		loaded, err := l.loadParts(ctx, s, need, lacking, keep)
		if !errors.Is(err, errReplaced) {
			return loaded, err
		}
		// The files of the state are gone, so a newer state must answer.
		if s.Pinned {
			return nil, state.ErrMixed
		}
		held := s.Held
		if s = l.Board.State.Load(); set&held&^s.Held != 0 {
			if l.Node.Lone() != nil {
				return nil, l.Board.Loading()
			}
			return nil, l.ErrNotHeld()
		}
	}
}

// loadParts returns a copy of a state with the stores of the parts of some partitions.
func (l *Loader) loadParts(ctx context.Context, s *state.State, need cell.Stores, set derived.Partitions, keep bool) (*state.State, error) {
	loaded := *s
	loaded.Views = slices.Clone(s.Views)
	for i, p := range s.Parts {
		c := s.Views[i].Cell()
		if !set.Has(machine.PartitionOf(p.First)) || c.Stores().Has(need) {
			continue
		}
		n, err := l.loadCell(ctx, p, c, need, keep)
		if err != nil {
			return nil, l.loadFailed(ctx, p, c, err)
		}
		loaded.Views[i] = s.Views[i].WithCell(n)
	}
	loaded.Stores = state.StoresOf(loaded.Views)
	return &loaded, nil
}

// loadCell returns the cell c of a part with further stores. One cell is loaded at a time, because
// several reads may need the same one.
func (l *Loader) loadCell(ctx context.Context, p *state.Part, c *cell.Cell, need cell.Stores, keep bool) (*cell.Cell, error) {
	unlock, err := l.Loading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// 1. Another read may have loaded it.
	if now := p.Delta.View().Cell(); now.Sum() == c.Sum() {
		c = now
	}
	if c.Stores().Has(need) {
		return c, nil
	}
	// 2. Load it.
	if err := l.Fits(l.Board.Memory()+int64(c.StoreSize(need&^c.Stores())), "the graph with a store that was relinquished"); err != nil {
		return nil, err
	}
	n, err := c.Load(need)
	if err == nil && keep {
		_, err = l.Stores.swapCell(p, c, n, func(p *state.Part) { p.Unload &^= need })
		l.Stores.show(p, c, n)
	}
	return n, err
}

// loadFailed returns the error of a read whose cell cannot be loaded. If its file cannot be read, the
// partition is made again.
func (l *Loader) loadFailed(ctx context.Context, p *state.Part, c *cell.Cell, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, links.ErrMemory):
		if l.Node.Lone() == nil {
			err = fmt.Errorf("%w: %w", links.ErrLoading, err) // another machine may have the memory
		}
		return err
	case p.Delta.View().Cell().Sum() != c.Sum() || !slices.Contains(l.Board.State.Load().Parts, p):
		return errReplaced
	}
	err = &lostCell{p, c, err}
	if done := l.Keeper.InKeeper(ctx, func(k *Keeper) error { k.lose(err); return nil }); done != nil {
		return done
	}
	return err
}

// lostCell is the error of a cell that cannot be read from its file. A retry helps when its partition
// was made again.
type lostCell struct {
	part *state.Part
	cell *cell.Cell
	err  error
}

func (l *lostCell) Error() string {
	return fmt.Sprintf("%v: the cell of %s cannot be read from its file, and is made again: %v", links.ErrLoading, l.part.Range, l.err)
}

func (l *lostCell) Unwrap() []error { return []error{links.ErrLoading, l.err} }

// lose drops the partition of a lost cell, if err is one and its part still has the cell.
func (k *Keeper) lose(err error) {
	var l *lostCell
	if !errors.As(err, &l) || !slices.Contains(k.Parts, l.part) || l.part.Delta.View().Cell().Sum() != l.cell.Sum() {
		return
	}
	k.Log.Error("a partition of the link graph is made again, because a file cannot be read", "file", l.part.File, "error", l.err)
	k.Drop(derived.Partitions(0).With(machine.PartitionOf(l.part.First)))
	k.WakePlacer()
}

// swapCell replaces the cell c of a part by n, the same cell with other stores, and calls then. It does
// nothing and returns false if the part has another cell now.
func (st *Stores) swapCell(p *state.Part, c, n *cell.Cell, then func(p *state.Part)) (bool, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.Delta.View().Cell() != c {
		return false, nil
	}
	then(p)
	return true, p.Delta.Replace(n)
}

// show shows the loaded cell n of a part to readers, instead of c.
func (st *Stores) show(p *state.Part, c, n *cell.Cell) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := *st.Board.State.Load()
	i := slices.Index(s.Parts, p)
	if i < 0 || s.Views[i].Cell() != c {
		return
	}
	s.Views = slices.Clone(s.Views)
	s.Views[i] = s.Views[i].WithCell(n)
	s.Stores = state.StoresOf(s.Views)
	st.Board.State.Store(&s)
}

// useStores loads stores of a part for the keeper, and returns its cell. They are dropped by the next
// unload, unless keep is set.
func (st *Stores) useStores(p *state.Part, need cell.Stores, keep bool) (*cell.Cell, error) {
	for {
		c := p.Delta.View().Cell()
		missing := need &^ c.Stores()
		n, err := c.Load(need)
		if err != nil {
			return nil, &lostCell{p, c, err}
		}
		same, err := st.swapCell(p, c, n, func(p *state.Part) {
			if p.Unload |= missing; keep {
				p.Unload &^= need
			}
		})
		if same || err != nil {
			return n, err
		}
	}
}

// unload drops the stores of the parts that are not needed any more. Parts without a file keep them
// until they have one. The caller must publish if it returns true.
func (k *Keeper) unload() (changed bool) {
	for _, p := range k.Parts {
		k.Stores.mu.Lock()
		v, drop := p.Delta.View(), p.Unload
		k.Stores.mu.Unlock()
		if c := v.Cell(); drop&c.Stores() == 0 || p.File == "" {
			continue
		}
		// Sizes of the graph must be known without the lists.
		if drop&cell.ListStores != 0 && v.Cell().Stores().Has(cell.ListStores) {
			v.NumLinked()
		}
		n, err := v.Cell().DropStores(drop, k.Path(p.File))
		if err == nil {
			_, err = k.Stores.swapCell(p, v.Cell(), n, func(p *state.Part) { p.Unload &^= drop })
			changed = true
		}
		if err != nil {
			k.Log.Error("a store of a cell stays in memory", "cell", p.Range.String(), "error", err)
		}
	}
	return changed
}

// ChangeStores requests and relinquishes stores on this machine, and returns what is in memory then.
func (l *Loader) ChangeStores(ctx context.Context, request, relinquish cell.Stores) (links.ServerStores, error) {
	// 1. Drop, and note both for the cells to come.
	if request|relinquish != 0 {
		err := l.Keeper.InKeeper(ctx, func(k *Keeper) error {
			k.Stores.mu.Lock()
			k.Stores.relinquished = k.Stores.relinquished&^request | relinquish
			for _, p := range k.Parts {
				p.Unload = p.Unload&^request | relinquish
			}
			k.Stores.mu.Unlock()
			if k.Dirty {
				if err := k.Save(); err != nil {
					return err
				}
			}
			k.unload()
			k.publish()
			return nil
		})
		if err != nil {
			return links.ServerStores{}, err
		}
	}
	// 2. Load.
	if request != 0 {
		if err := l.Board.AwaitCells(ctx); err != nil {
			return links.ServerStores{}, err
		}
		s := l.Board.State.Load()
		if _, err := l.LoadStores(ctx, s, request, s.Held, true); err != nil {
			return links.ServerStores{}, err
		}
	}
	return l.serverStores(), nil
}

// serverStores returns what this machine has in memory.
func (l *Loader) serverStores() links.ServerStores {
	l.Stores.mu.Lock()
	defer l.Stores.mu.Unlock()
	one := links.ServerStores{ID: l.Node.MachineID().String(), Relinquished: l.Stores.relinquished}
	s := l.Board.State.Load()
	if s == nil {
		return one
	}
	for _, p := range s.Parts {
		v := p.Delta.View()
		c := v.Cell()
		one.Cells++
		one.Bytes += int64(c.Size())
		one.DeltaBytes += v.Bytes()
		// A store counts as in memory or as in the file alone.
		for _, m := range []struct {
			store  cell.Stores
			memory *links.StoreMemory
		}{{cell.URLStore, &one.URLs}, {cell.ForwardStore, &one.Forward}, {cell.BackwardStore, &one.Backward}} {
			size := int64(c.StoreSize(m.store))
			m.memory.FileBytes += size
			if c.Stores().Has(m.store) {
				m.memory.Cells++
				m.memory.Bytes += size
			}
		}
	}
	return one
}
