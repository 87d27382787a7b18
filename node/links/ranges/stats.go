package ranges

import (
	"context"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Stats implements links.Graph. A machine's pages are those whose UIDs it reads, its
// links those that it reads by their targets. It goes through all keys of both.
func (g *Graph) Stats(ctx context.Context) (all links.Stats, err error) {
	all.Epoch = g.toldEpoch(ctx)
	return all, g.read(ctx, func(r *reader) error {
		for _, machine := range g.machines() {
			one, err := r.stats(ctx, machine)
			if err != nil {
				return err
			}
			if all.MinUID == 0 {
				all.MinUID = one.MinUID
			}
			all.MaxUID = max(all.MaxUID, one.MaxUID)
			if one.MinUID != 0 {
				all.MinUID = min(all.MinUID, one.MinUID)
			}
			all.Pages += one.Pages
			all.Links += one.Links
			all.Linked += one.Linked
			all.Servers = append(all.Servers, one)
		}
		all.MaxOut, all.MaxIn = g.ranks.degrees()
		return nil
	})
}

// machine is a member, and the parts of a range that it reads.
type machine struct {
	id             trie.MachineID
	address        string
	pages, linking []triple.Range
}

// machines returns who reads what. Without a view this machine reads it all; what nobody
// reads for now is with the machine 0.
func (g *Graph) machines() []machine {
	v := g.store.View()
	if v == nil {
		return []machine{{g.store.MachineID(), "", []triple.Range{g.pages}, []triple.Range{g.linked}}}
	}
	all := make([]machine, 0, len(v.Members)+1)
	place := map[trie.MachineID]int{}
	for _, m := range v.Members {
		place[m.ID] = len(all)
		all = append(all, machine{id: m.ID, address: m.Address})
	}
	joint := v.Joint()
	read := func(keys triple.Range, do func(m *machine, part triple.Range)) {
		for s := range joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
			owner, live := joint.ReaderOf(s)
			if !live {
				owner = 0
			}
			if _, ok := place[owner]; !ok {
				place[owner] = len(all)
				all = append(all, machine{id: owner})
			}
			do(&all[place[owner]], keys.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi}))
		}
	}
	read(g.pages, func(m *machine, part triple.Range) { m.pages = append(m.pages, part) })
	read(g.linked, func(m *machine, part triple.Range) { m.linking = append(m.linking, part) })
	return all
}

// stats counts what a machine reads.
func (r *reader) stats(ctx context.Context, m machine) (one links.ServerStats, err error) {
	one.Address, one.MaxOut, one.MaxIn = m.address, -1, -1
	if m.id != 0 {
		one.ID = m.id.String()
	}
	for _, part := range m.pages {
		n, err := r.source.Count(ctx, part)
		if err != nil {
			return one, err
		}
		if n == 0 {
			continue
		}
		one.Pages += n
		for _, reverse := range []bool{false, true} {
			err := r.pages(ctx, part, reverse, func(u uid.UID, _ []byte) bool {
				if one.MinUID == 0 {
					one.MinUID = u
				}
				one.MinUID, one.MaxUID = min(one.MinUID, u), max(one.MaxUID, u)
				return false
			})
			if err != nil {
				return one, err
			}
		}
	}
	for _, part := range m.linking {
		n, err := r.source.Count(ctx, part)
		if err != nil {
			return one, err
		}
		one.Links += n
		one.Linked += n
	}
	return one, nil
}
