// All pages by UID, and counts of pages and links by machine.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linklists"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// inventory scans all pages and counts pages and links.
type inventory struct {
	*rowreader.Readers
	uids   *assign.Assigner
	counts counts
}

// Pages implements links.Graph.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	return pages, g.reads.Read(ctx, func(r *rowreader.Reader) error {
		if n <= 0 || after == ^uid.UID(0) {
			return nil
		}
		keys, err := linkkeys.UIDRange(uid.Range{First: max(after+1, 1), Last: ^uid.UID(0)})
		if err != nil {
			return err
		}
		return g.inventory.forEachUID(ctx, r, keys, n, func(u uid.UID) bool {
			if len(pages) == 0 || pages[len(pages)-1] < u {
				pages = append(pages, u)
			}
			return len(pages) < n
		})
	})
}

// forEachUID calls do with the UIDs in a range of their keys until do returns false. They
// ascend, but some may repeat. The parameter most is about the number of wanted UIDs.
func (g *inventory) forEachUID(ctx context.Context, r *rowreader.Reader, keys triple.Range, most int, do func(u uid.UID) bool) error {
	more := true
	return r.ForEachPiece(ctx, keys, func(ctx context.Context, piece triple.Range) (bool, error) {
		err := r.ScanPages(ctx, piece, false, func(u uid.UID, _ []byte) bool {
			more = do(u)
			return more
		})
		return more, err
	}, func(away rowreader.Walk) ([]byte, error) {
		upTo, list, err := g.copiedPages(ctx, r, away, min(most, rowreader.MaxWalkRows))
		for _, u := range list {
			if more = do(u); !more {
				return nil, nil
			}
		}
		return upTo, err
	})
}

// copiedPages returns the UIDs at the beginning of a range, about most of them, and the key at
// which that beginning ends.
func (g *inventory) copiedPages(ctx context.Context, r *rowreader.Reader, away rowreader.Walk, most int) (upTo []byte, list []uid.UID, err error) {
	away.Kind, away.Most = rowreader.WalkPages, most
	upTo, d, err := r.FetchWalk(ctx, away)
	if err != nil {
		return nil, nil, err
	}
	if list, err = linkkeys.Unpack(nil, d.Bytes()); err == nil {
		err = d.End()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("copies of pages: %w", err)
	}
	return upTo, list, nil
}

// counts caches the stats of the whole graph for one epoch. A scan of all keys takes long. If
// the epoch is the same, nothing has changed.
type counts struct {
	mu   sync.Mutex
	last links.Stats // Epoch is 0 if there are none
}

// of returns the cached stats if they belong to the given epoch.
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

// Stats implements links.Graph. A machine's pages are those whose UIDs it reads. Its links are
// those that it reads by their targets. Stats scans all keys of both, unless the epoch is the
// same as in the last call.
func (g *Graph) Stats(ctx context.Context) (links.Stats, error) {
	epoch := g.epochs.EpochOrZero(ctx, g.inventory.counts.epoch())
	all, ok := g.inventory.counts.of(epoch)
	if !ok {
		all.Epoch = epoch
		err := g.reads.Read(ctx, func(r *rowreader.Reader) error {
			if err := g.inventory.countAll(ctx, r, &all); err != nil || epoch == 0 || r.Degraded() {
				return err
			}
			if g.epochs.EpochOrZero(ctx, epoch) == epoch {
				g.inventory.counts.keep(all)
			}
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	all.MaxOut, all.MaxIn = g.ranker.Ranks.Degrees()
	return all, nil
}

// countAll counts all pages and links.
func (g *inventory) countAll(ctx context.Context, r *rowreader.Reader, all *links.Stats) error {
	for _, machine := range g.memberRanges() {
		one, err := g.stats(ctx, r, machine)
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

// memberRanges is a member and the ranges of pages and links that it reads.
type memberRanges struct {
	id             trie.MachineID
	address        string
	pages, linking []triple.Range
}

// memberRanges returns the ranges of each member. If there is no view, this machine reads
// everything. Ranges without a live reader belong to the machine 0.
func (g *inventory) memberRanges() []memberRanges {
	v := g.Store.View()
	if v == nil {
		return []memberRanges{{g.Store.MachineID(), "", []triple.Range{g.Keys.Pages}, []triple.Range{g.Keys.Linked}}}
	}
	// 1. List every member, because a member without ranges is reported too.
	all := make([]memberRanges, 0, len(v.Members)+1)
	place := map[trie.MachineID]int{}
	for _, m := range v.Members {
		place[m.ID] = len(all)
		all = append(all, memberRanges{id: m.ID, address: m.Address})
	}
	joint := v.Joint()
	// 2. Resolve the reader of each segment. Adjacent parts of one reader are joined.
	read := func(keys triple.Range, of func(m *memberRanges) *[]triple.Range) {
		for s := range joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
			owner, live := joint.ReaderOf(s)
			if !live {
				owner = 0
			}
			if _, ok := place[owner]; !ok {
				place[owner] = len(all)
				all = append(all, memberRanges{id: owner})
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
	read(g.Keys.Pages, func(m *memberRanges) *[]triple.Range { return &m.pages })
	read(g.Keys.Linked, func(m *memberRanges) *[]triple.Range { return &m.linking })
	return all
}

// stats counts the pages and links that a machine reads.
func (g *inventory) stats(ctx context.Context, r *rowreader.Reader, m memberRanges) (one links.ServerStats, err error) {
	one.Address, one.MaxOut, one.MaxIn = m.address, -1, -1
	if m.id != 0 {
		one.ID = m.id.String()
	}
	for _, part := range m.pages {
		if err := g.countPages(ctx, r, part, &one); err != nil {
			return one, fmt.Errorf("count pages: %w", err)
		}
	}
	for _, part := range m.linking {
		n, err := g.countLinks(ctx, r, part)
		if err != nil {
			return one, fmt.Errorf("count links: %w", err)
		}
		one.Links += n
		one.Linked += n
	}
	return one, nil
}

// countPages counts the pages in a range of UIDs' keys, and updates the least and the greatest
// UID.
func (g *inventory) countPages(ctx context.Context, r *rowreader.Reader, part triple.Range, one *links.ServerStats) error {
	met := func(u uid.UID) {
		if one.MinUID == 0 {
			one.MinUID = u
		}
		one.MinUID, one.MaxUID = min(one.MinUID, u), max(one.MaxUID, u)
	}
	var last uid.UID // the last one that came from copies
	return r.ForEachPiece(ctx, part, func(ctx context.Context, piece triple.Range) (bool, error) {
		n, err := r.Source.Count(ctx, piece)
		if err != nil || n == 0 {
			return true, err
		}
		// Only the first and the last row are read, because UIDs ascend in this order.
		for _, reverse := range []bool{false, true} {
			err := r.ScanPages(ctx, piece, reverse, func(u uid.UID, _ []byte) bool {
				met(u)
				return false
			})
			if err != nil {
				return false, err
			}
		}
		one.Pages += n
		return true, nil
	}, func(away rowreader.Walk) ([]byte, error) {
		upTo, list, err := g.copiedPages(ctx, r, away, rowreader.MaxWalkRows)
		// UIDs from copies may repeat, so only those above the last one count.
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

// countLinks counts the links in a range of their keys by target. If they come from copies, a
// link in several graphs counts once.
func (g *inventory) countLinks(ctx context.Context, r *rowreader.Reader, part triple.Range) (total int64, err error) {
	err = r.ForEachPiece(ctx, part, func(ctx context.Context, piece triple.Range) (bool, error) {
		n, err := r.Source.Count(ctx, piece)
		total += n
		return true, err
	}, func(away rowreader.Walk) ([]byte, error) {
		n, upTo, err := g.copiedLinks(ctx, r, away)
		total += n
		return upTo, err
	})
	return total, err
}

// copiedLinks counts the links at the beginning of a range. If other machines read a part of a
// list, it is counted link by link, because copies may have more of it than the range.
func (g *inventory) copiedLinks(ctx context.Context, r *rowreader.Reader, away rowreader.Walk) (n int64, upTo []byte, err error) {
	// 1. If the range begins inside a list, or ends inside the same one, count that list alone.
	if pair, ok := triple.KeyPair(away.Lo); ok {
		if list := copies.PairRange(pair); bytes.Compare(list.Lo, away.Lo) < 0 || bytes.Compare(away.Hi, list.Hi) < 0 {
			piece := list.Intersect(away.Range)
			n, err = g.countPiece(ctx, r, away, piece)
			return n, piece.Hi, err
		}
	}
	if pair, ok := triple.KeyPair(away.Hi); ok { // the last list is counted alone
		if list := copies.PairRange(pair); bytes.Compare(list.Lo, away.Hi) < 0 {
			away.Hi = list.Lo
		}
	}
	// 2. Count the whole lists of the range on a machine with copies.
	away.Kind, away.Most = rowreader.WalkLinks, rowreader.MaxWalkRows
	upTo, d, err := r.FetchWalk(ctx, away)
	if pair, ok := triple.KeyPair(away.Lo); errors.Is(err, store.ErrUnavailable) && ok { // several machines have parts of it
		piece := copies.PairRange(pair).Intersect(away.Range)
		n, err = g.countPiece(ctx, r, away, piece)
		return n, piece.Hi, err
	}
	if err != nil {
		return 0, nil, err
	}
	n = int64(d.Uvarint())
	return n, upTo, d.End()
}

// countPiece counts the links in a piece of one backward list.
func (g *inventory) countPiece(ctx context.Context, r *rowreader.Reader, away rowreader.Walk, piece triple.Range) (n int64, err error) {
	// 1. Fetch the list from copies.
	var list []uid.UID
	answered, _, err := r.FetchCopied(ctx, away.View, rowreader.CopiedList, []ownership.OwnedRange{{Range: piece, Owner: away.Owner, Item: 0}}, func(_ int, d *peer.Decoder) (err error) {
		list, err = linkkeys.Unpack(nil, d.Bytes())
		return err
	})
	if err == nil && !answered[0] {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, ownership.ErrDown)
	}
	if err != nil {
		return 0, err
	}
	// 2. Rebuild the key of each link from its URL, because only keys inside the piece count.
	pair, _ := triple.KeyPair(piece.Lo)
	key := copies.PairRange(pair).Lo
	front := len(key)
	for some := range slices.Chunk(list, linklists.MaxPendingEnds) {
		urls, err := g.uids.LookUpURLs(ctx, r, some)
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
