// The memory of a page and of a link in graphs larger than memory: one partition of 64.

package links

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

const (
	// scalePartitions is the number of partitions of a graph of links.
	scalePartitions = 64
	// scaleChunk is the number of pages whose links a goroutine makes at a time.
	scaleChunk = 1 << 16
)

// scale builds the cell of the first partition of graphs with these millions of pages, and reports its
// size. The other cells are alike, because a partition is a range of hashes of hosts. So the graph is
// never in memory: its links are made again, and only those from or to pages of the partition are kept.
func (b *bench) scale(ctx context.Context) error {
	for text := range strings.SplitSeq(b.scales, ",") {
		millions, err := strconv.ParseUint(text, 10, 11)
		if err != nil || millions == 0 || millions > 2000 {
			return fmt.Errorf("-scale: %q is no number of millions of pages up to 2000", text)
		}
		g, err := linkgen.New(linkgen.Options{Pages: uint32(millions * 1_000_000), Seed: b.Seed})
		if err != nil {
			return err
		}
		if err := b.scaleOne(ctx, g, text); err != nil {
			return fmt.Errorf("%s million pages: %w", text, err)
		}
	}
	return nil
}

func (b *bench) scaleOne(ctx context.Context, g *linkgen.Graph, millions string) error {
	s := newScaled(g)
	o := cell.Options{Range: uid.Slots{Last: uid.NumSlots/scalePartitions - 1}.Range()}
	maker, err := cell.NewBuilder(o)
	if err != nil {
		return err
	}
	// 1. The pages of the partition, by UID.
	pages := s.pages(o.Range)
	var url []byte
	for _, p := range pages {
		url = g.URL(p.page, url[:0])
		if err := maker.AddPage(p.uid, url); err != nil {
			return err
		}
	}
	// 2. Their links, both ways.
	edges, err := s.edges(ctx, o.Range)
	if err != nil {
		return err
	}
	for d, list := range edges {
		slices.SortFunc(list, func(x, y cell.Edge) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
		if err := maker.AddEdges(cell.Direction(d), list, nil); err != nil {
			return err
		}
	}
	data, err := maker.Build()
	if err != nil {
		return err
	}
	c, err := cell.Open(data)
	if err != nil {
		return err
	}
	// 3. The sizes.
	sizes := map[string]int{}
	for name, size := range c.Sizes() {
		sizes[name] = size
	}
	per := func(d cell.Direction, sections ...string) (bytes float64) {
		for _, name := range sections {
			bytes += float64(sizes[name])
		}
		return rig.Ratio(bytes, float64(c.NumLinks(d)))
	}
	b.add("", fmt.Sprintf("%s million pages, the cell of one partition of %d", millions, scalePartitions),
		"%.1f bytes a page; of these a URL %.1f; a link forward %.2f, backward %.2f (%s pages, %s and %s links)",
		rig.Ratio(float64(len(data)), float64(c.Len())), rig.Ratio(float64(sizes["URLs"]), float64(c.Len())),
		per(cell.Forward, "forward lists", "forward ghosts"), per(cell.Backward, "backward lists", "backward ghosts"),
		count(int64(c.Len())), count(c.NumLinks(cell.Forward)), count(c.NumLinks(cell.Backward)))
	return nil
}

// scaled gives the pages of a generated graph their UIDs, as a store does: the hosts of a slot are
// numbered as they come, and so are the pages of a host.
type scaled struct {
	*linkgen.Graph
	extents []uid.Extent // by host
}

func newScaled(g *linkgen.Graph) *scaled {
	s := &scaled{g, make([]uid.Extent, g.Hosts())}
	var hosts [uid.NumSlots]uint32
	var url []byte
	for h := range s.extents {
		first, _ := g.HostPages(uint32(h))
		url = g.URL(first, url[:0])
		slot := uid.SlotOf(weburl.HostKey(string(url)))
		hosts[slot]++
		s.extents[h] = uid.Make(slot, hosts[slot], 0).Extent()
	}
	return s
}

// uid returns the UID of a page.
func (s *scaled) uid(page uint32) uid.UID {
	h := s.Host(page)
	first, _ := s.HostPages(h)
	return uid.UID(s.extents[h])<<uid.PageBits | uid.UID(page-first)
}

// scaledPage is a page with its UID.
type scaledPage struct {
	uid  uid.UID
	page uint32
}

// pages returns the pages of a range, by UID.
func (s *scaled) pages(r uid.Range) (pages []scaledPage) {
	for h := range s.extents {
		first, end := s.HostPages(uint32(h))
		if !r.Contains(s.uid(first)) {
			continue
		}
		for p := first; p < end; p++ {
			pages = append(pages, scaledPage{s.uid(p), p})
		}
	}
	slices.SortFunc(pages, func(x, y scaledPage) int { return cmp.Compare(x.uid, y.uid) })
	return pages
}

// edges makes all links of the graph, and returns those from the pages of a range and those to them.
func (s *scaled) edges(ctx context.Context, r uid.Range) (all [2][]cell.Edge, err error) {
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			var own [2][]cell.Edge
			var list []uint32
			// 1. Take the next pages until none is left.
			for ctx.Err() == nil {
				begin := next.Add(scaleChunk) - scaleChunk
				if begin >= int64(s.Pages()) {
					break
				}
				for page := uint32(begin); page < uint32(min(begin+scaleChunk, int64(s.Pages()))); page++ {
					from := s.uid(page)
					inside := r.Contains(from)
					list = s.Links(page, list[:0])
					for _, target := range list {
						to := s.uid(target)
						if inside {
							own[cell.Forward] = append(own[cell.Forward], cell.Edge{From: from, To: to})
						}
						if r.Contains(to) {
							own[cell.Backward] = append(own[cell.Backward], cell.Edge{From: to, To: from})
						}
					}
				}
			}
			// 2. Hand over what was found.
			mu.Lock()
			defer mu.Unlock()
			for d := range all {
				all[d] = append(all[d], own[d]...)
			}
		})
	}
	group.Wait()
	return all, ctx.Err()
}
