// Lists of links, from owners and from rows.

package ranges

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// pendingEnds is how many ends of links are held by their URLs; then they are looked up.
const pendingEnds = 1 << 16

// bytesALink is what a link takes in a slice that grew.
const bytesALink = 16

// heldLinks is how many links a call may hold.
func (g *Graph) heldLinks() int { return int(g.o.HeldBytes / bytesALink) }

var errTooMany = fmt.Errorf("%w: the lists that are asked for have more links than are held at once (Options.HeldBytes); ask for fewer pages at a time, or for samples", links.ErrInvalid)

// ends collects the other ends of links, by page.
type ends struct {
	reader  *reader
	lists   [][]uid.UID
	pending []string          // URLs whose UIDs are not known
	of      []int             // by link that waits: which list
	known   map[string]uint32 // by URL: its place in pending
	at      []uint32          // by link that waits: its place in pending
	held    *atomic.Int64     // links, of several such together; nil is not counted
}

func (e *ends) add(ctx context.Context, item int, end []byte) error {
	if e.held != nil && e.held.Add(1) > int64(e.reader.graph.heldLinks()) {
		return errTooMany
	}
	if u := e.reader.knownUID(end); u != 0 {
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
	for i, at := range e.at {
		if u := uids[at]; u != 0 {
			e.lists[e.of[i]] = append(e.lists[e.of[i]], u)
		}
	}
	e.pending, e.of, e.at = e.pending[:0], e.of[:0], e.at[:0]
	clear(e.known)
	return nil
}

// lists returns the links of pages.
func (r *reader) lists(ctx context.Context, d links.Direction, pages []uid.UID) (*asking, error) {
	a := askAbout(d, wantLists, sample.Spec{}, pages)
	rest, err := r.fromOwners(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := r.rowsOf(ctx, a, rest); err != nil {
		return nil, err
	}
	a.repeated()
	held := 0
	for i := range pages {
		if held += a.length(i); held > r.graph.heldLinks() {
			return nil, errTooMany
		}
	}
	return a, nil
}

// rowsOf reads lists by their rows.
func (r *reader) rowsOf(ctx context.Context, a *asking, items []int) error {
	urls := make([]string, len(items))
	for i, item := range items {
		urls[i] = a.urls[item]
	}
	read, err := r.listsByRows(ctx, a.d, urls)
	if err != nil {
		return err
	}
	for i, item := range items {
		a.tell(item, read[i])
	}
	return nil
}

// listsByRows returns the links of pages, whose URLs are all different, as their rows are.
func (r *reader) listsByRows(ctx context.Context, d links.Direction, urls []string) ([][]uid.UID, error) {
	all := make([][]uid.UID, len(urls))
	parts := min(max(1, len(urls)/listsAtOnce), processors.Count())
	var held atomic.Int64
	return all, atOnce(ctx, parts, parts, func(ctx context.Context, i int) error {
		from, to := i*len(urls)/parts, (i+1)*len(urls)/parts
		e := ends{reader: r, lists: all[from:to], known: map[string]uint32{}, held: &held}
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

const (
	// eachPages is how many pages' lists are asked for at a time, and eachLinks how many
	// links are held of them, but for one page that has more.
	eachPages = 1 << 13
	eachLinks = 1 << 20
)

// eachList calls do with the lists of pages, one after the other. The list is do's until
// it returns.
func (r *reader) eachList(ctx context.Context, d links.Direction, pages []uid.UID, do func(i int, list []uid.UID) error) error {
	var list []uid.UID
	n, met := 1<<10, 0
	for i := 0; i < len(pages); {
		n = min(n, len(pages)-i, eachPages)
		a, most, err := r.upTo(ctx, d, pages[i:i+n], min(eachLinks, r.graph.heldLinks()))
		if err != nil {
			return err
		}
		if most == 0 { // a long list
			if a, err = r.lists(ctx, d, pages[i:i+1]); err != nil {
				return err
			}
			most = 1
		}
		for k := range most {
			if list, err = a.append(list[:0], k); err != nil {
				return err
			}
			if err := do(i+k, list); err != nil {
				return err
			}
			met += len(list)
		}
		i += most
		n = max(1, eachLinks/(met/i+1)/2)
		if cap(list) > eachLinks {
			list = nil
		}
	}
	return nil
}
