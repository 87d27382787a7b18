// Lists of links, from owners and from rows.

package linklists

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// MaxPendingEnds is the number of URLs of links that are held until their UIDs are looked up.
const MaxPendingEnds = 1 << 16

// bytesALink is the memory of a link in a slice that grew.
const bytesALink = 16

var errTooMany = fmt.Errorf("%w: the lists that are asked for have more links than are held at once (Options.HeldBytes); ask for fewer pages at a time, or for samples", links.ErrInvalid)

// endCollector collects the other ends of links, by page.
type endCollector struct {
	graph   *Reader
	reader  *rowreader.Reader
	lists   [][]uid.UID
	pending []string          // URLs whose UIDs must be looked up
	of      []int             // by pending link: the index of its list
	known   map[string]uint32 // by URL: its index in pending
	at      []uint32          // by pending link: the index of its URL
	held    *atomic.Int64     // links, shared by several collectors; nil if not counted
}

func (e *endCollector) add(ctx context.Context, item int, end []byte) error {
	if e.held != nil && e.held.Add(1) > int64(e.graph.owned.heldLinks()) {
		return errTooMany
	}
	if u := e.graph.uids.CachedUID(end); u != 0 {
		e.lists[item] = append(e.lists[item], u)
		return nil
	}
	at, ok := e.known[string(end)]
	if !ok {
		at = uint32(len(e.pending))
		url := string(end)
		e.pending = append(e.pending, url)
		e.known[url] = at
	}
	e.of, e.at = append(e.of, item), append(e.at, at)
	if len(e.at) >= MaxPendingEnds {
		return e.flush(ctx)
	}
	return nil
}

// flush looks up the pending URLs, and appends their UIDs to the lists.
func (e *endCollector) flush(ctx context.Context) error {
	uids, err := e.graph.uids.AssignUIDs(ctx, e.reader, e.pending)
	if err != nil {
		return err
	}
	for i, at := range e.at {
		if u := uids[at]; u != 0 {
			e.lists[e.of[i]] = append(e.lists[e.of[i]], u)
		}
	}
	e.pending, e.of, e.at = e.pending[:0], e.of[:0], e.at[:0]
	clear(e.known)
	return nil
}

// Read returns the links of pages. It fails if they exceed Options.HeldBytes.
func (g *Reader) Read(ctx context.Context, r *rowreader.Reader, d links.Direction, pages []uid.UID) (*request, error) {
	a := newRequest(d, wantLists, sample.Spec{}, pages)
	rest, err := g.fetchFromOwners(ctx, r, a)
	if err != nil {
		return nil, err
	}
	if err := g.readRows(ctx, r, a, rest); err != nil {
		return nil, err
	}
	a.fillRepeated()
	held := 0
	for i := range pages {
		if held += a.length(i); held > g.owned.heldLinks() {
			return nil, errTooMany
		}
	}
	return a, nil
}

// readRows reads lists from their rows.
func (g *Reader) readRows(ctx context.Context, r *rowreader.Reader, a *request, items []int) error {
	urls := make([]string, len(items))
	for i, item := range items {
		urls[i] = a.urls[item]
	}
	read, err := g.readRowLists(ctx, r, a.d, urls)
	if err != nil {
		return err
	}
	for i, item := range items {
		a.setList(item, read[i])
	}
	return nil
}

// readRowLists returns the links of pages from their rows. The URLs must be distinct.
func (g *Reader) readRowLists(ctx context.Context, r *rowreader.Reader, d links.Direction, urls []string) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	parts := min(max(1, len(urls)/listsAtOnce), processors.Count())
	var held atomic.Int64
	return all, ownership.Parallel(ctx, parts, parts, func(ctx context.Context, i int) error {
		from, to := i*len(urls)/parts, (i+1)*len(urls)/parts
		e := endCollector{graph: g, reader: r, lists: all[from:to], known: map[string]uint32{}, held: &held}
		err := g.Targets(ctx, r, d, urls[from:to], func(i int, end []byte) error { return e.add(ctx, i, end) })
		if err != nil {
			return err
		}
		if err := e.flush(ctx); err != nil {
			return err
		}
		for i := range e.lists {
			slices.Sort(e.lists[i])
		}
		return nil
	})
}

// listsAtOnce is the least number of lists that one goroutine reads.
const listsAtOnce = 256

const (
	// eachPages is the greatest number of pages in one request, and eachLinks the greatest
	// number of links that are held. If one page has more, it is held alone.
	eachPages = 1 << 13
	eachLinks = 1 << 20
)

// ForEach calls do with the lists of pages, in order. The list is valid until do returns, and
// do may modify it.
func (g *Reader) ForEach(ctx context.Context, r *rowreader.Reader, d links.Direction, pages []uid.UID, do func(i int, list []uid.UID) error) error {
	var list []uid.UID
	n, met := 1<<10, 0
	for i := 0; i < len(pages); {
		// 1. Read the lists of the next pages, as far as they fit into eachLinks.
		n = min(n, len(pages)-i, eachPages)
		a, most, err := g.readPrefix(ctx, r, d, pages[i:i+n], min(eachLinks, g.owned.heldLinks()))
		if err != nil {
			return err
		}
		if most == 0 { // a long list must be read alone
			if a, err = g.Read(ctx, r, d, pages[i:i+1]); err != nil {
				return err
			}
			most = 1
		}
		// 2. Pass the lists on.
		for k := range most {
			if list, err = a.append(list[:0], k); err != nil {
				return err
			}
			if err := do(i+k, list); err != nil {
				return err
			}
			met += len(list)
		}
		// 3. Choose the next number of pages by the average length so far.
		i += most
		n = max(1, eachLinks/(met/i+1)/2)
		if cap(list) > eachLinks {
			list = nil
		}
	}
	return nil
}

// Reader reads lists from their owners, from copies or from rows.
type Reader struct {
	*rowreader.Readers
	uids   *assign.Assigner
	hosts  *HostNames
	owned  *OwnedLists
	places atomic.Pointer[places]
}

// New returns a Reader. The owned lists answer for this machine.
func New(r *rowreader.Readers, uids *assign.Assigner, hosts *HostNames, owned *OwnedLists) *Reader {
	return &Reader{Readers: r, uids: uids, hosts: hosts, owned: owned}
}
