package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// counts are the last stats of a whole graph of one epoch: to go through all keys takes
// long, and the epoch tells that nothing has changed.
type counts struct {
	mu   sync.Mutex
	last links.Stats // Epoch is 0 where there are none
}

// of returns the stats of an epoch, if they are these.
func (c *counts) of(epoch uint64) (links.Stats, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == 0 || c.last.Epoch != epoch {
		return links.Stats{}, false
	}
	last := c.last
	last.Servers = slices.Clone(last.Servers)
	return last, true
}

func (c *counts) epoch() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Epoch
}

func (c *counts) keep(s links.Stats) {
	s.Servers = slices.Clone(s.Servers)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
}

// Stats implements links.Graph. A machine's pages are those whose UIDs it reads, its
// links those that it reads by their targets. It goes through all keys of both, unless the
// epoch is still that of the last time.
func (g *Graph) Stats(ctx context.Context) (links.Stats, error) {
	epoch := g.toldEpoch(ctx, g.counts.epoch())
	all, ok := g.counts.of(epoch)
	if !ok {
		all.Epoch = epoch
		err := g.read(ctx, func(r *reader) error {
			if err := r.allStats(ctx, &all); err != nil || epoch == 0 || r.degraded() {
				return err
			}
			if g.toldEpoch(ctx, epoch) == epoch {
				g.counts.keep(all)
			}
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	all.MaxOut, all.MaxIn = g.ranks.degrees()
	return all, nil
}

// allStats counts all pages and links.
func (r *reader) allStats(ctx context.Context, all *links.Stats) error {
	for _, machine := range r.graph.machines() {
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
	return nil
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
	read := func(keys triple.Range, of func(m *machine) *[]triple.Range) {
		for s := range joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
			owner, live := joint.ReaderOf(s)
			if !live {
				owner = 0
			}
			if _, ok := place[owner]; !ok {
				place[owner] = len(all)
				all = append(all, machine{id: owner})
			}
			parts := of(&all[place[owner]])
			part := keys.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi})
			if n := len(*parts); n > 0 && bytes.Equal((*parts)[n-1].Hi, part.Lo) {
				(*parts)[n-1].Hi = part.Hi
			} else {
				*parts = append(*parts, part)
			}
		}
	}
	read(g.pages, func(m *machine) *[]triple.Range { return &m.pages })
	read(g.linked, func(m *machine) *[]triple.Range { return &m.linking })
	return all
}

// stats counts what a machine reads.
func (r *reader) stats(ctx context.Context, m machine) (one links.ServerStats, err error) {
	one.Address, one.MaxOut, one.MaxIn = m.address, -1, -1
	if m.id != 0 {
		one.ID = m.id.String()
	}
	for _, part := range m.pages {
		if err := r.countPages(ctx, part, &one); err != nil {
			return one, fmt.Errorf("count pages: %w", err)
		}
	}
	for _, part := range m.linking {
		n, err := r.countLinks(ctx, part)
		if err != nil {
			return one, fmt.Errorf("count links: %w", err)
		}
		one.Links += n
		one.Linked += n
	}
	return one, nil
}

// countPages counts the pages in a range of UIDs' keys, and tells the least and the
// greatest UID.
func (r *reader) countPages(ctx context.Context, part triple.Range, one *links.ServerStats) error {
	met := func(u uid.UID) {
		if one.MinUID == 0 {
			one.MinUID = u
		}
		one.MinUID, one.MaxUID = min(one.MinUID, u), max(one.MaxUID, u)
	}
	var last uid.UID // of those that came from copies
	return r.eachPiece(ctx, part, func(ctx context.Context, piece triple.Range) (bool, error) {
		n, err := r.source.Count(ctx, piece)
		if err != nil || n == 0 {
			return true, err
		}
		for _, reverse := range []bool{false, true} {
			err := r.pages(ctx, piece, reverse, func(u uid.UID, _ []byte) bool {
				met(u)
				return false
			})
			if err != nil {
				return false, err
			}
		}
		one.Pages += n
		return true, nil
	}, func(away walked) ([]byte, error) {
		upTo, list, err := r.copiedPages(ctx, away, walkedMost)
		for _, u := range list {
			if u > last {
				last = u
				one.Pages++
				met(u)
			}
		}
		return upTo, err
	})
}

// countLinks counts the links in a range of their keys by target. Where they come from
// copies, one that is in several graphs counts once.
func (r *reader) countLinks(ctx context.Context, part triple.Range) (total int64, err error) {
	err = r.eachPiece(ctx, part, func(ctx context.Context, piece triple.Range) (bool, error) {
		n, err := r.source.Count(ctx, piece)
		total += n
		return true, err
	}, func(away walked) ([]byte, error) {
		n, upTo, err := r.copiedLinks(ctx, away)
		total += n
		return upTo, err
	})
	return total, err
}

// copiedLinks counts the links in the beginning of a range. A list of which other machines
// read a part is counted link by link, as copies may have more of it than is asked for.
func (r *reader) copiedLinks(ctx context.Context, away walked) (n int64, upTo []byte, err error) {
	if pair, ok := triple.KeyPair(away.Lo); ok {
		if list := copies.PairRange(pair); bytes.Compare(list.Lo, away.Lo) < 0 || bytes.Compare(away.Hi, list.Hi) < 0 {
			piece := list.Intersect(away.Range)
			n, err = r.countPiece(ctx, away, piece)
			return n, piece.Hi, err
		}
	}
	if pair, ok := triple.KeyPair(away.Hi); ok { // the last list comes by itself
		if list := copies.PairRange(pair); bytes.Compare(list.Lo, away.Hi) < 0 {
			away.Hi = list.Lo
		}
	}
	away.kind, away.most = walkedLinks, walkedMost
	upTo, d, err := r.walkCopies(ctx, away)
	if pair, ok := triple.KeyPair(away.Lo); errors.Is(err, node.ErrUnavailable) && ok { // several have it in parts
		piece := copies.PairRange(pair).Intersect(away.Range)
		n, err = r.countPiece(ctx, away, piece)
		return n, piece.Hi, err
	}
	if err != nil {
		return 0, nil, err
	}
	n = int64(d.Uvarint())
	return n, upTo, d.End()
}

// countPiece counts the links in a piece of one backward list.
func (r *reader) countPiece(ctx context.Context, away walked, piece triple.Range) (n int64, err error) {
	var list []uid.UID
	answered, _, err := r.fromCopies(ctx, away.view, copiedList, []copiedRange{{piece, away.owner, 0}}, func(_ int, d *peer.Decoder) (err error) {
		list, err = unpack(nil, d.Bytes())
		return err
	})
	if err == nil && !answered[0] {
		err = fmt.Errorf("%w: %w", node.ErrUnavailable, errAway)
	}
	if err != nil {
		return 0, err
	}
	pair, _ := triple.KeyPair(piece.Lo)
	key := copies.PairRange(pair).Lo
	front := len(key)
	for some := range slices.Chunk(list, pendingEnds) {
		urls, err := r.urls(ctx, some)
		if err != nil {
			return 0, err
		}
		for _, url := range urls {
			if key, _ = triple.AppendTerm(key[:front], triple.NewIRI(url)); url != "" && piece.Contains(key) {
				n++
			}
		}
	}
	return n, nil
}
