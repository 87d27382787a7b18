// Stores: which parts of the cells are in memory, and loading the others from files.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

// Each cell has its URLs, forward lists and backward lists in memory, or in its file alone:
//
//   - Graph.Relinquish makes the keeper drop stores of all cells. A cell without a file gets one first.
//   - A read calls state.with for the stores that it needs. What is missing is loaded from the files,
//     one cell at a time, and stays until it is relinquished again.
//   - What the keeper needs for changes or to build a cell again is loaded for that alone.
//   - A new cell has the stores of the cell that it replaces. Other new cells have those that are not
//     relinquished.
//
// If a file cannot be read, its partition is dropped, and made again as if it had never been there.

// stores is which stores of cells are in memory.
type stores struct {
	board *board
	// mu must be held while a state is published, while the cell of a delta is replaced, and for what
	// follows. It must be taken for moments only.
	mu           sync.Mutex
	relinquished cell.Stores // new cells drop these
}

// loader loads stores for reads, and requests and relinquishes them for clients.
type loader struct {
	*machine
	board   *board
	stores  *stores
	keeper  *keeper
	loading lock // held while a read loads a cell
}

// errReplaced reports that a cell was replaced while its file was read.
var errReplaced = errors.New("the cell was built again meanwhile")

// with returns a state whose parts have some stores in memory: those of the partitions of n items. It
// loads what is missing. The state may be a later one.
func (s *state) with(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state, error) {
	if s.stores.Has(need) {
		return s, nil
	}
	var set partitionSet
	for i := range n {
		set = set.with(of(i))
	}
	return s.loader.loadStores(ctx, s, need, set, true)
}

// lacks returns the partitions of a set whose parts do not have some stores in memory.
func (s *state) lacks(need cell.Stores, set partitionSet) (lacking partitionSet) {
	for i, v := range s.views {
		if of := partitionOf(s.parts[i].First); set.has(of) && !v.Cell().Stores().Has(need) {
			lacking = lacking.with(of)
		}
	}
	return lacking
}

// loadStores implements storeLoader.
func (l *loader) loadStores(ctx context.Context, s *state, need cell.Stores, set partitionSet, keep bool) (*state, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		lacking := s.lacks(need, set&s.held)
		if lacking == 0 {
			return s, nil
		}
		loaded, err := l.loadParts(ctx, s, need, lacking, keep)
		if !errors.Is(err, errReplaced) {
			return loaded, err
		}
		// The files of the state are gone, so a newer state must answer.
		if s.pinned {
			return nil, ErrMixed
		}
		held := s.held
		if s = l.board.state.Load(); set&held&^s.held != 0 {
			if l.node.Lone() != nil {
				return nil, l.board.loading()
			}
			return nil, l.errNotHeld()
		}
	}
}

// loadParts returns a copy of a state with the stores of the parts of some partitions.
func (l *loader) loadParts(ctx context.Context, s *state, need cell.Stores, set partitionSet, keep bool) (*state, error) {
	loaded := *s
	loaded.views = slices.Clone(s.views)
	for i, p := range s.parts {
		c := s.views[i].Cell()
		if !set.has(partitionOf(p.First)) || c.Stores().Has(need) {
			continue
		}
		n, err := l.loadCell(ctx, p, c, need, keep)
		if err != nil {
			return nil, l.loadFailed(ctx, p, c, err)
		}
		loaded.views[i] = s.views[i].WithCell(n)
	}
	loaded.stores = storesOf(loaded.views)
	return &loaded, nil
}

// loadCell returns the cell c of a part with further stores. One cell is loaded at a time, because
// several reads may need the same one.
func (l *loader) loadCell(ctx context.Context, p *part, c *cell.Cell, need cell.Stores, keep bool) (*cell.Cell, error) {
	unlock, err := l.loading.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// 1. Another read may have loaded it.
	if now := p.delta.View().Cell(); now.Sum() == c.Sum() {
		c = now
	}
	if c.Stores().Has(need) {
		return c, nil
	}
	// 2. Load it.
	if err := l.fits(l.board.memory()+int64(c.StoreSize(need&^c.Stores())), "the graph with a store that was relinquished"); err != nil {
		return nil, err
	}
	n, err := c.Load(need)
	if err == nil && keep {
		_, err = l.stores.swapCell(p, c, n, func(p *part) { p.unload &^= need })
		l.stores.show(p, c, n)
	}
	return n, err
}

// loadFailed returns the error of a read whose cell cannot be loaded. If its file cannot be read, the
// partition is made again.
func (l *loader) loadFailed(ctx context.Context, p *part, c *cell.Cell, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, links.ErrMemory):
		if l.node.Lone() == nil {
			err = fmt.Errorf("%w: %w", links.ErrLoading, err) // another machine may have the memory
		}
		return err
	case p.delta.View().Cell().Sum() != c.Sum() || !slices.Contains(l.board.state.Load().parts, p):
		return errReplaced
	}
	err = &lostCell{p, c, err}
	if done := l.keeper.inKeeper(ctx, func(k *keeper) error { k.lose(err); return nil }); done != nil {
		return done
	}
	return err
}

// lostCell is the error of a cell that cannot be read from its file. A retry helps when its partition
// was made again.
type lostCell struct {
	part *part
	cell *cell.Cell
	err  error
}

func (l *lostCell) Error() string {
	return fmt.Sprintf("%v: the cell of %s cannot be read from its file, and is made again: %v", links.ErrLoading, l.part.Range, l.err)
}

func (l *lostCell) Unwrap() []error { return []error{links.ErrLoading, l.err} }

// lose drops the partition of a lost cell, if err is one and its part still has the cell.
func (k *keeper) lose(err error) {
	var l *lostCell
	if !errors.As(err, &l) || !slices.Contains(k.parts, l.part) || l.part.delta.View().Cell().Sum() != l.cell.Sum() {
		return
	}
	k.log.Error("a partition of the link graph is made again, because a file cannot be read", "file", l.part.file, "error", l.err)
	k.drop(partitionSet(0).with(partitionOf(l.part.First)))
	k.wakePlacer()
}

// swapCell replaces the cell c of a part by n, the same cell with other stores, and calls then. It does
// nothing and returns false if the part has another cell now.
func (st *stores) swapCell(p *part, c, n *cell.Cell, then func(p *part)) (bool, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.delta.View().Cell() != c {
		return false, nil
	}
	then(p)
	return true, p.delta.Replace(n)
}

// show shows the loaded cell n of a part to readers, instead of c.
func (st *stores) show(p *part, c, n *cell.Cell) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := *st.board.state.Load()
	i := slices.Index(s.parts, p)
	if i < 0 || s.views[i].Cell() != c {
		return
	}
	s.views = slices.Clone(s.views)
	s.views[i] = s.views[i].WithCell(n)
	s.stores = storesOf(s.views)
	st.board.state.Store(&s)
}

// useStores loads stores of a part for the keeper, and returns its cell. They are dropped by the next
// unload, unless keep is set.
func (st *stores) useStores(p *part, need cell.Stores, keep bool) (*cell.Cell, error) {
	for {
		c := p.delta.View().Cell()
		missing := need &^ c.Stores()
		n, err := c.Load(need)
		if err != nil {
			return nil, &lostCell{p, c, err}
		}
		same, err := st.swapCell(p, c, n, func(p *part) {
			if p.unload |= missing; keep {
				p.unload &^= need
			}
		})
		if same || err != nil {
			return n, err
		}
	}
}

// unload drops the stores of the parts that are not needed any more. Parts without a file keep them
// until they have one. The caller must publish if it returns true.
func (k *keeper) unload() (changed bool) {
	for _, p := range k.parts {
		k.stores.mu.Lock()
		v, drop := p.delta.View(), p.unload
		k.stores.mu.Unlock()
		if c := v.Cell(); drop&c.Stores() == 0 || p.file == "" {
			continue
		}
		// Sizes of the graph must be known without the lists.
		if drop&cell.ListStores != 0 && v.Cell().Stores().Has(cell.ListStores) {
			v.NumLinked()
		}
		n, err := v.Cell().Without(drop, k.path(p.file))
		if err == nil {
			_, err = k.stores.swapCell(p, v.Cell(), n, func(p *part) { p.unload &^= drop })
			changed = true
		}
		if err != nil {
			k.log.Error("a store of a cell stays in memory", "cell", p.Range.String(), "error", err)
		}
	}
	return changed
}

// changeStores requests and relinquishes stores on this machine, and returns what is in memory then.
func (l *loader) changeStores(ctx context.Context, request, relinquish cell.Stores) (links.ServerStores, error) {
	// 1. Drop, and note both for the cells to come.
	if request|relinquish != 0 {
		err := l.keeper.inKeeper(ctx, func(k *keeper) error {
			k.stores.mu.Lock()
			k.stores.relinquished = k.stores.relinquished&^request | relinquish
			for _, p := range k.parts {
				p.unload = p.unload&^request | relinquish
			}
			k.stores.mu.Unlock()
			if k.dirty {
				if err := k.save(); err != nil {
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
		if err := l.board.AwaitCells(ctx); err != nil {
			return links.ServerStores{}, err
		}
		s := l.board.state.Load()
		if _, err := l.loadStores(ctx, s, request, s.held, true); err != nil {
			return links.ServerStores{}, err
		}
	}
	return l.serverStores(), nil
}

// serverStores returns what this machine has in memory.
func (l *loader) serverStores() links.ServerStores {
	l.stores.mu.Lock()
	defer l.stores.mu.Unlock()
	one := links.ServerStores{ID: l.node.MachineID().String(), Relinquished: l.stores.relinquished}
	s := l.board.state.Load()
	if s == nil {
		return one
	}
	for _, p := range s.parts {
		v := p.delta.View()
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

// Request implements links.Loader: it waits until all machines have all that they must hold, with
// these stores.
func (g *Graph) Request(ctx context.Context, s links.Stores) error {
	_, err := g.onAllMachines(ctx, s, 0)
	return err
}

// Relinquish implements links.Loader.
func (g *Graph) Relinquish(ctx context.Context, s links.Stores) error {
	_, err := g.onAllMachines(ctx, 0, s)
	return err
}

// Stores implements links.Loader.
func (g *Graph) Stores(ctx context.Context) ([]links.ServerStores, error) {
	return g.onAllMachines(ctx, 0, 0)
}

// onAllMachines requests and relinquishes stores on all machines, and returns what each has in memory
// then. If a machine fails, the others have done it all the same.
func (g *Graph) onAllMachines(ctx context.Context, request, relinquish links.Stores) ([]links.ServerStores, error) {
	if (request|relinquish)&^cell.AllStores != 0 || request&relinquish != 0 {
		return nil, fmt.Errorf("%w: a store is unknown, or is requested and relinquished", links.ErrInvalid)
	}
	// 1. A lone node.
	if g.node.Lone() != nil {
		one, err := g.loader.changeStores(ctx, request, relinquish)
		return []links.ServerStores{one}, err
	}
	// 2. All members with a graph at the same time. A machine without a view does not know them.
	v, err := g.router.awaitFirstView(ctx)
	if err != nil {
		return nil, err
	}
	members := slices.DeleteFunc(slices.Clone(v.Members), func(m view.Member) bool { return m.NoLinks })
	all, errs := make([]links.ServerStores, len(members)), make([]error, len(members))
	var asking sync.WaitGroup
	for i, m := range members {
		asking.Go(func() {
			if m.ID == g.node.MachineID() {
				all[i], errs[i] = g.loader.changeStores(ctx, request, relinquish)
			} else if a, err := g.router.send(ctx, m.ID, &query{kind: askStores, number: uint64(request), most: uint64(relinquish)}); err != nil {
				errs[i] = err
			} else {
				errs[i] = a.into(&all[i])
			}
			if all[i].Address = m.Address; errs[i] != nil {
				errs[i] = fmt.Errorf("stores of machine %s: %w", m.ID, errs[i])
			}
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		if mayPass(err) && !errors.Is(err, links.ErrLoading) {
			err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return nil, err
	}
	return all, nil
}
