// All links of a cluster in the memory of one machine.

package pagerank

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// web is all links, by their sources, as one partition of rank.PageRank.
type web struct {
	uids    []uid.UID // ascending
	starts  []int     // the index of the first link of each page, and the end of all
	sources []uint32  // by target while the links are read
	targets []uint32  // by source
}

// Pages implements rank.Partition.
func (w *web) Pages() int { return len(w.uids) }

// Ghosts implements rank.Partition: there are none, because there is one partition.
func (w *web) Ghosts() int { return 0 }

// Locate implements rank.Partition.
func (w *web) Locate(uint32) (rank.Address, bool) { return rank.Address{}, false }

// Scan implements rank.Partition.
func (w *web) Scan(yield func(page uint32, locals, ghosts []uint32) bool) error {
	for i := range w.uids {
		if list := w.targets[w.starts[i]:w.starts[i+1]]; len(list) > 0 && !yield(uint32(i), list, nil) {
			return nil
		}
	}
	return nil
}

func (w *web) maxDegrees() (out, in int) {
	of := make([]int, len(w.uids))
	for i := range w.uids {
		out = max(out, w.starts[i+1]-w.starts[i])
	}
	for _, t := range w.targets {
		of[t]++
		in = max(in, of[t])
	}
	return out, in
}

// errUnknown reports that links have ends without UIDs.
var errUnknown = errors.New("pages without UIDs")

// readWeb reads all pages and all links. If a page has no UID, it gets one. If it still has
// none then, because somebody has deleted it, it is left out.
func (g *Ranker) readWeb(ctx context.Context) (w *web, err error) {
	tried := map[string]bool{}
	for {
		var unknown []string
		err := g.Read(ctx, func(r *rowreader.Reader) (err error) {
			w, unknown, err = g.scanWeb(ctx, r, g.rankBytes, tried)
			return err
		})
		if !errors.Is(err, errUnknown) {
			return w, err
		}
		if _, err := g.uids.RequestUIDs(ctx, unknown); err != nil {
			return nil, err
		}
		for _, url := range unknown {
			tried[url] = true
		}
	}
}

// maxUnknown is the number of pages without UIDs that are collected before they get some.
const maxUnknown = 1_000_000

// Bytes of memory for a page, and for a link, while a web is read.
const (
	pageBytes = 96
	linkBytes = 16
)

// scanWeb reads a web. If pages have no UIDs, it returns their URLs and errUnknown.
func (g *Ranker) scanWeb(ctx context.Context, r *rowreader.Reader, most int64, tried map[string]bool) (*web, []string, error) {
	// 1. Read the pages.
	w := &web{}
	// Pages are found by 128 bits of hash, because two equal hashes will not happen.
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	hash := func(url []byte) [2]uint64 {
		return [2]uint64{maphash.Bytes(seeds[0], url), maphash.Bytes(seeds[1], url)}
	}
	places := map[[2]uint64]uint32{}
	err := r.ScanPages(ctx, g.Keys.Pages, false, func(u uid.UID, url []byte) bool {
		if len(w.uids) == 0 || w.uids[len(w.uids)-1] != u {
			places[hash(url)] = uint32(len(w.uids))
			w.uids = append(w.uids, u)
		}
		return int64(len(w.uids))*pageBytes <= most
	})
	if err != nil {
		return nil, nil, err
	}
	unknown := map[string]struct{}{}
	find := func(url []byte) (uint32, bool) {
		at, ok := places[hash(url)]
		if !ok && !tried[string(url)] {
			unknown[string(url)] = struct{}{}
		}
		return at, ok
	}
	// 2. Read the links, by target: each target is looked up once.
	var targets []uint32
	var lastDst []byte
	last := uint32(0)
	full := false
	known := false
	err = r.ScanLinks(ctx, g.Keys.Linked, func(src, dst []byte) bool {
		if lastDst == nil || string(dst) != string(lastDst) {
			last, known = find(dst)
			lastDst = append(lastDst[:0], dst...)
		}
		if from, ok := find(src); ok && known {
			w.sources, targets = append(w.sources, from), append(targets, last)
		}
		full = int64(len(w.uids))*pageBytes+int64(len(targets))*linkBytes > most
		return !full && len(unknown) < maxUnknown
	})
	// 3. Check the limits, and sort the links by source.
	switch {
	case err != nil:
		return nil, nil, err
	case full || int64(len(w.uids))*pageBytes > most:
		return nil, nil, fmt.Errorf("%w: more than %d pages and %d links take more than the %d bytes that a job of PageRank may have on one machine", links.ErrInvalid, len(w.uids), len(targets), most)
	case len(unknown) > 0:
		return nil, slices.Collect(maps.Keys(unknown)), errUnknown
	}
	w.order(targets)
	return w, nil, nil
}

// order sorts the links by their sources, with a counting sort.
func (w *web) order(targets []uint32) {
	w.starts = make([]int, len(w.uids)+1)
	for _, s := range w.sources {
		w.starts[s+1]++
	}
	for i := range w.uids {
		w.starts[i+1] += w.starts[i]
	}
	next := slices.Clone(w.starts)
	w.targets = make([]uint32, len(targets))
	for i, s := range w.sources {
		w.targets[next[s]] = targets[i]
		next[s]++
	}
}
