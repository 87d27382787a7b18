// Stores in memory, on all machines.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

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
	if g.Node.Lone() != nil {
		one, err := g.loader.ChangeStores(ctx, request, relinquish)
		return []links.ServerStores{one}, err
	}
	// All members with a graph at the same time. A machine without a view does not know them.
	v, err := g.router.AwaitFirstView(ctx)
	if err != nil {
		return nil, err
	}
	members := slices.DeleteFunc(slices.Clone(v.Members), func(m view.Member) bool { return m.NoLinks })
	all, errs := make([]links.ServerStores, len(members)), make([]error, len(members))
	var requests sync.WaitGroup
	for i, m := range members {
		requests.Go(func() {
			if m.ID == g.Node.MachineID() {
				all[i], errs[i] = g.loader.ChangeStores(ctx, request, relinquish)
			} else if a, err := g.router.Send(ctx, m.ID, &route.Query{Kind: route.QueryStores, Number: uint64(request), Most: uint64(relinquish)}); err != nil {
				errs[i] = err
			} else {
				errs[i] = a.Decode(&all[i])
			}
			if all[i].Address = m.Address; errs[i] != nil {
				errs[i] = fmt.Errorf("stores of machine %s: %w", m.ID, errs[i])
			}
		})
	}
	requests.Wait()
	if err := errors.Join(errs...); err != nil {
		if machine.MayPass(err) && !errors.Is(err, links.ErrLoading) {
			err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return nil, err
	}
	return all, nil
}
