// Lists of links, from owners and from rows.

package ranges

import (
	"context"
	"runtime"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// pendingEnds is how many ends of links are held by their URLs; then they are looked up.
const pendingEnds = 1 << 16

// ends collects the other ends of links, by page.
type ends struct {
	reader  *reader
	lists   [][]uid.UID
	pending []string          // URLs whose UIDs are not known
	of      []int             // by link that waits: which list
	known   map[string]uint32 // by URL: its place in pending
	at      []uint32          // by link that waits: its place in pending
	hosts   hosts
}

func (e *ends) add(ctx context.Context, item int, end []byte) error {
	if u := e.reader.knownUID(end); u != 0 {
		if e.hosts != nil {
			e.hosts.add(u, string(end))
		}
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
	if len(e.at) >= pendingEnds {
		return e.flush(ctx)
	}
	return nil
}

// flush looks up what waits.
func (e *ends) flush(ctx context.Context) error {
	uids, err := e.reader.named(ctx, e.pending)
	if err != nil {
		return err
	}
	for i, u := range uids {
		e.hosts.add(u, e.pending[i])
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

// lists returns the links of pages, whose URLs are all different.
func (r *reader) lists(ctx context.Context, d links.Direction, urls []string) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	rest, err := r.fromOwners(ctx, d, urls, all)
	if err != nil || len(rest) == 0 {
		return all, err
	}
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = urls[item]
	}
	read, err := r.listsByRows(ctx, d, left, nil)
	for i, item := range rest {
		all[item] = read[i]
	}
	return all, err
}

// listsByRows returns the links of pages, as their rows are; hosts takes them in where
// that is not nil.
func (r *reader) listsByRows(ctx context.Context, d links.Direction, urls []string, h hosts) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	parts := 1
	if h == nil { // hosts take in one at a time
		parts = min(max(1, len(urls)/listsAtOnce), runtime.GOMAXPROCS(0))
	}
	return all, atOnce(ctx, parts, parts, func(ctx context.Context, i int) error {
		from, to := i*len(urls)/parts, (i+1)*len(urls)/parts
		e := ends{reader: r, lists: all[from:to], known: map[string]uint32{}, hosts: h}
		err := r.targets(ctx, d, urls[from:to], func(i int, end []byte) error { return e.add(ctx, i, end) })
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

// listsAtOnce is how many lists are read by one goroutine at least.
const listsAtOnce = 256
