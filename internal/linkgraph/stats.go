// Statistics of the graph, and its epoch.

package linkgraph

import (
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
)

// Stats implements links.Graph.
func (rd *reader) Stats(ctx context.Context) (links.Stats, error) {
	all := links.Stats{Loading: true}
	if text := rd.board.progress.Load(); text != nil {
		all.Progress = *text
	}
	if full := rd.board.full.Load(); full != nil {
		all.Progress = (*full).Error()
	}
	s := rd.board.state.Load()
	if rd.node.Lone() != nil && (s == nil || s.held != allPartitions) {
		return all, ctx.Err()
	}
	// 1. The primary of each partition reports it, or another holder. The sum has each of them once.
	type part struct {
		machine string
		stats   links.ServerStats
	}
	lists, err := gather(ctx, rd.router, request[part]{
		n: numPartitions, of: func(i int) int { return i }, size: noSize, primaries: true,
		local: func(s *state, items []int) (rank.Lists[part], error) {
			stats, err := s.stats(ctx, partitionsOf(items))
			return onFirst(part{rd.node.MachineID().String(), stats}, len(items)), err
		},
		query: func(items []int) *query { return &query{kind: askStats, number: uint64(partitionsOf(items))} },
		parse: func(a *answer) ([]part, error) {
			p := part{}
			if len(a.texts) == 1 {
				p.machine = a.texts[0]
			}
			return []part{p}, a.into(&p.stats)
		},
	})
	if err != nil {
		return all, err
	}
	// 2. Add them up, by machine.
	all.Loading, all.Progress = false, ""
	servers := map[string]*links.ServerStats{}
	if v := rd.node.View(); v != nil {
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

// onFirst returns n lists, of which the first one has an item.
func onFirst[T any](item T, n int) (l rank.Lists[T]) {
	l.Items = []T{item}
	for range n {
		l.End()
	}
	return l
}

// partitionsOf returns a set of partitions.
func partitionsOf(items []int) (set partitionSet) {
	for _, i := range items {
		set = set.with(i)
	}
	return set
}

// stats returns the sizes of held partitions. If changes must be counted, it reads the lists from files
// for that alone.
func (s *state) stats(ctx context.Context, set partitionSet) (one links.ServerStats, err error) {
	var count partitionSet
	for i, v := range s.views {
		if of := partitionOf(s.parts[i].First); set.has(of) && !v.AllLinked() {
			count = count.with(of)
		}
	}
	if s, err = s.loader.loadStores(ctx, s, cell.ListStores, count, false); err != nil {
		return one, err
	}
	for i, v := range s.views {
		if p := s.parts[i]; set.has(partitionOf(p.First)) {
			one.Cells++
			add(&one, v)
			addMemory(&one, p.delta.View())
		}
	}
	return one, ctx.Err()
}

// CurrentEpoch implements links.EpochFetcher. In a cluster the member with the lowest ID of those with a graph counts the
// changes of links that it has taken in, as all members do. So a read between two calls with the
// same result has seen the graph of that epoch.
func (rd *reader) CurrentEpoch(ctx context.Context, _ uint64) (uint64, error) {
	if rd.node.Lone() != nil {
		s, err := rd.board.current(ctx)
		if err != nil {
			return 0, err
		}
		return rd.board.epochOf(s), nil
	}
	waiting, cancel := rd.bound(ctx)
	defer cancel()
	for tries := 0; ; tries++ {
		epoch, err := rd.fetchEpoch(waiting)
		if err == nil || !mayPass(err) {
			return epoch, err
		}
		if err := rd.router.waitRetry(waiting, tries+1, err); err != nil {
			return 0, err
		}
	}
}

func (rd *reader) fetchEpoch(ctx context.Context) (uint64, error) {
	at, err := rd.board.ends.position(ctx, rd.machine)
	if err != nil {
		return 0, err
	}
	v := rd.node.View()
	first := slices.IndexFunc(membersOf(v), func(m view.Member) bool { return !m.NoLinks })
	if first < 0 || v.Members[first].ID == rd.node.MachineID() || rd.node.NoMajority() {
		s, err := rd.board.await(ctx, at)
		if err != nil {
			return 0, err
		}
		return rd.board.epochOf(s), nil
	}
	a, err := rd.router.send(ctx, v.Members[first].ID, &query{kind: askEpoch, at: at})
	if err != nil {
		return 0, err
	}
	return a.number, nil
}

// membersOf returns the members of a view; none while there is no view.
func membersOf(v *view.View) []view.Member {
	if v == nil {
		return nil
	}
	return v.Members
}

// add adds the sizes of a view to the stats of a server.
func add(s *links.ServerStats, v *delta.View) {
	s.Pages += int64(v.NumLinked())
	s.Links += v.NumLinks(cell.Forward)
	s.Linked += v.NumLinks(cell.Backward)
	s.MaxOut = max(s.MaxOut, v.MaxDegree(cell.Forward))
	s.MaxIn = max(s.MaxIn, v.MaxDegree(cell.Backward))
	if first, last, ok := v.Ends(); ok {
		if s.MinUID == 0 {
			s.MinUID = first
		}
		s.MaxUID = last
	}
}

// addMemory adds the memory of a view.
func addMemory(s *links.ServerStats, v *delta.View) {
	c := v.Cell()
	s.Bytes += int64(c.Size())
	s.DeltaBytes += v.Bytes()
	for name, size := range c.Sizes() {
		switch {
		case name == "URLs":
			s.URLBytes += int64(size)
		case name == "forward lists" || name == "forward ghosts":
			s.ForwardBytes += int64(size)
		case name == "backward lists" || name == "backward ghosts":
			s.BackwardBytes += int64(size)
		}
	}
}
