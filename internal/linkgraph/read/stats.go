// Statistics of the graph, and its epoch.

package read

import (
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
)

// Stats implements links.Graph.
func (rd *Reader) Stats(ctx context.Context) (links.Stats, error) {
	all := links.Stats{Loading: true}
	if text := rd.Board.Progress.Load(); text != nil {
		all.Progress = *text
	}
	if full := rd.Board.Full.Load(); full != nil {
		all.Progress = (*full).Error()
	}
	s := rd.Board.State.Load()
	if rd.Node.Lone() != nil && (s == nil || s.Held != machine.AllPartitions) {
		return all, ctx.Err()
	}
	// 1. The primary of each partition reports it, or another holder. The sum has each of them once.
	type part struct {
		machine string
		stats   links.ServerStats
	}
	lists, err := route.Gather(ctx, rd.Router, route.Request[part]{
		N: machine.NumPartitions, Of: func(i int) int { return i }, Size: route.NoSize, Primaries: true,
		Local: func(s *state.State, items []int) (rank.Lists[part], error) {
			stats, err := s.Stats(ctx, derived.Partitions(0).With(items...))
			return OnFirst(part{rd.Node.MachineID().String(), stats}, len(items)), err
		},
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QueryStats, Number: uint64(derived.Partitions(0).With(items...))}
		},
		Parse: func(a *route.Answer) ([]part, error) {
			p := part{}
			if len(a.Texts) == 1 {
				p.machine = a.Texts[0]
			}
			return []part{p}, a.Decode(&p.stats)
		},
	})
	if err != nil {
		return all, err
	}
	// 2. Add them up, by machine.
	all.Loading, all.Progress = false, ""
	servers := map[string]*links.ServerStats{}
	if v := rd.Node.View(); v != nil {
		for _, m := range v.Members {
			servers[m.ID.String()] = &links.ServerStats{ID: m.ID.String(), Address: m.Address}
		}
	}
	for _, p := range lists.Items {
		if servers[p.machine] == nil {
			servers[p.machine] = &links.ServerStats{ID: p.machine}
		}
		addStats(servers[p.machine], &p.stats)
		addStats(&all.ServerStats, &p.stats)
	}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		all.Servers = append(all.Servers, *servers[id])
	}
	all.Epoch, err = rd.CurrentEpoch(ctx, 0)
	return all, err
}

// addStats adds the sizes of other partitions.
func addStats(s, other *links.ServerStats) {
	s.Pages += other.Pages
	s.Links += other.Links
	s.Linked += other.Linked
	s.MaxOut, s.MaxIn = max(s.MaxOut, other.MaxOut), max(s.MaxIn, other.MaxIn)
	if s.MinUID == 0 || other.MinUID != 0 && other.MinUID < s.MinUID {
		s.MinUID = other.MinUID
	}
	s.MaxUID = max(s.MaxUID, other.MaxUID)
	s.Cells += other.Cells
	s.Bytes += other.Bytes
	s.URLBytes += other.URLBytes
	s.ForwardBytes += other.ForwardBytes
	s.BackwardBytes += other.BackwardBytes
	s.DeltaBytes += other.DeltaBytes
}

// OnFirst returns n lists, of which the first one has an item.
func OnFirst[T any](item T, n int) (l rank.Lists[T]) {
	l.Items = []T{item}
	for range n {
		l.End()
	}
	return l
}

// CurrentEpoch implements links.EpochFetcher. In a cluster the member with the lowest ID of those with a graph counts the
// changes of links that it has taken in, as all members do. So a read between two calls with the
// same result has seen the graph of that epoch.
func (rd *Reader) CurrentEpoch(ctx context.Context, _ uint64) (epoch uint64, err error) {
	if rd.Node.Lone() != nil {
		s, err := rd.Board.Current(ctx)
		if err != nil {
			return 0, err
		}
		return rd.Board.EpochOf(s), nil
	}
	waiting, cancel := rd.Bound(ctx)
	defer cancel()
	err = rd.Router.Retry(waiting, machine.MayPass, func() (err error) {
		epoch, err = rd.fetchEpoch(waiting)
		return err
	})
	return epoch, err
}

func (rd *Reader) fetchEpoch(ctx context.Context) (uint64, error) {
	at, err := rd.ReadPosition(ctx)
	if err != nil {
		return 0, err
	}
	v := rd.Node.View()
	first := slices.IndexFunc(derived.MembersOf(v), func(m view.Member) bool { return !m.NoLinks })
	if first < 0 || v.Members[first].ID == rd.Node.MachineID() || rd.Node.NoMajority() {
		s, err := rd.Board.Await(ctx, at)
		if err != nil {
			return 0, err
		}
		return rd.Board.EpochOf(s), nil
	}
	a, err := rd.Router.Send(ctx, v.Members[first].ID, &route.Query{Kind: route.QueryEpoch, At: at})
	if err != nil {
		return 0, err
	}
	return a.Number, nil
}
