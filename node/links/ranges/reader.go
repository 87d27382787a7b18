// Looking things up: many ranges at a time.

package ranges

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// reader reads for one call.
type reader struct {
	graph    *Graph
	snapshot Snapshot
	source   sparql.Source
	copied   atomic.Bool // something came from copies

	// repeated is that the call is repeated where it was in vain since a machine is away;
	// until is when a call gives up, zero where it has not been in vain yet, and pause how
	// long it waited last.
	repeated bool
	trying   sync.Mutex
	until    time.Time
	pause    time.Duration
}

func (r *reader) close() { _ = r.snapshot.Close() } // it holds nothing

// degraded reports whether something came from other orders or from copies, since a
// machine is dead.
func (r *reader) degraded() bool {
	if r.copied.Load() {
		return true
	}
	return r.fromOtherOrders()
}

// fromOtherOrders reports whether rows came from other orders than the one that was asked.
func (r *reader) fromOtherOrders() bool {
	d, ok := r.snapshot.(interface{ Degraded() bool })
	return ok && d.Degraded()
}

// lookedUpRanges is how many ranges are looked up at a time: one message to each owner.
const lookedUpRanges = 1 << 13

// look calls each for the rows of ranges, those of one item after the other.
func (r *reader) look(ctx context.Context, all []wanted, each func(item int, row *row) error) error {
	all = lookedUp(all)
	ranges := make([]triple.Range, 0, min(len(all), lookedUpRanges))
	for part := range slices.Chunk(all, lookedUpRanges) {
		ranges = ranges[:0]
		for _, w := range part {
			ranges = append(ranges, w.Range)
		}
		err := r.source.Lookup(ctx, ranges, func(i int, key, value []byte) error {
			row, err := rowOf(key, value)
			if err != nil {
				return err
			}
			return each(part[i].item, &row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// uids returns the UIDs of pages; 0 for those that have none.
func (r *reader) uids(ctx context.Context, urls []string) ([]uid.UID, error) {
	predicate := triple.NewIRI(links.UIDPredicate)
	found := make([]uid.UID, len(urls))
	var all []wanted
	same := map[string]int{} // the first item with a URL that is not known
	of := make([]int, len(urls))
	for i, url := range urls {
		if found[i] = r.knownUID([]byte(url)); found[i] != 0 {
			continue
		}
		first, ok := same[url]
		if !ok {
			first = i
			same[url] = i
			if subject, ok := iri(url); ok {
				keys, err := rangeOf(triple.SPO, triple.Pattern{Subject: subject, Predicate: predicate})
				if err != nil {
					return nil, err
				}
				all = append(all, wanted{keys, i})
			}
		}
		of[i] = first
	}
	if len(all) == 0 {
		return found, nil
	}
	claims, err := r.firsts(ctx, copiedUIDs, all, len(urls), func(i int, row *row) bool {
		url, ok := row.iri(triple.Subject)
		return ok && string(url) == urls[i] // not another long one
	})
	if err != nil {
		return nil, fmt.Errorf("look UIDs up: %w", err)
	}
	for i, url := range urls {
		if found[i] == 0 {
			if found[i] = claims[of[i]].uid; found[i] != 0 && of[i] == i {
				r.graph.known.put(url, found[i])
			}
		}
	}
	return found, nil
}

// knownUID returns the UID of a page, 0 where it is not remembered.
func (r *reader) knownUID(url []byte) uid.UID {
	u, old := r.graph.known.uid(url)
	if old {
		r.graph.known.put(string(url), u)
	}
	return u
}

// settledFor reports whether no earlier stamp can turn up than those that were read, of
// which newest is the newest epoch; before is up to where all was settled when the read
// began. If not, it waits until that is so: then it is to be read again.
func (g *Graph) settledFor(ctx context.Context, newest, before uint64) (bool, error) {
	now := uint64(0)
	if v := g.store.View(); v != nil {
		now = v.Epoch
	}
	// All of the epochs that were read is settled, or the newest one is this one, in which
	// stamps come in their order.
	if newest < before || newest <= before && before >= now {
		return true, nil
	}
	return false, g.settle(ctx, max(newest, now))
}

// settle waits until all from before an epoch is settled.
func (g *Graph) settle(ctx context.Context, epoch uint64) error {
	settled, err := g.store.Settled(ctx, epoch)
	if err != nil {
		return err
	}
	for {
		before := g.settled.Load()
		if before >= settled || g.settled.CompareAndSwap(before, settled) {
			return nil
		}
	}
}

// named returns the UIDs of pages, which get some if they have none; 0 for what no page
// can be called.
func (r *reader) named(ctx context.Context, urls []string) ([]uid.UID, error) {
	found, err := r.uids(ctx, urls)
	if err != nil {
		return nil, err
	}
	var without []string
	var at []int
	for i, u := range found {
		if u == 0 {
			without, at = append(without, urls[i]), append(at, i)
		}
	}
	if len(without) == 0 {
		return found, nil
	}
	given, err := r.graph.name(ctx, without)
	if err != nil {
		return nil, err
	}
	for i, u := range given {
		found[at[i]] = u
	}
	return found, nil
}

// urls returns the URLs of pages; "" for those that there are not.
func (r *reader) urls(ctx context.Context, pages []uid.UID) ([]string, error) {
	predicate := triple.NewIRI(links.UIDPredicate)
	var all []wanted
	found := make([]string, len(pages))
	same := map[uid.UID]int{}
	for i, u := range pages {
		url, old := r.graph.known.url(u)
		if found[i] = url; old {
			r.graph.known.putURL(u, url)
		}
		if _, ok := same[u]; ok || url != "" || !u.Valid() {
			continue
		}
		same[u] = i
		keys, err := rangeOf(triple.POS, triple.Pattern{Predicate: predicate, Object: links.UIDTriple("a:", u).Object})
		if err != nil {
			return nil, err
		}
		all = append(all, wanted{keys, i})
	}
	err := r.lookEither(ctx, copiedURLs, all, func(i int, row *row) error {
		if u, ok := row.uid(); ok && u == pages[i] && found[i] == "" {
			url, _ := row.iri(triple.Subject)
			found[i] = string(url)
			r.graph.known.putURL(u, found[i])
		}
		return nil
	}, func(i int, d *peer.Decoder) error {
		all, err := parseURLs(d)
		if err == nil && len(all) > 0 && found[i] == "" {
			found[i] = all[0]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look URLs up: %w", err)
	}
	for i, u := range pages {
		if first, ok := same[u]; ok {
			found[i] = found[first]
		}
	}
	return found, nil
}

// far returns the position of a list's other ends.
func far(d links.Direction) int {
	if d == links.Backward {
		return triple.Subject
	}
	return triple.Object
}

// targets calls each with the other ends of the links of pages, by page, each once: in
// no order of pages. Other ends are valid during the call.
func (r *reader) targets(ctx context.Context, d links.Direction, urls []string, each func(item int, end []byte) error) error {
	direct, err := r.copiedTargets(ctx, d, urls, each)
	if err != nil {
		return err
	}
	var all []wanted
	for _, i := range direct {
		if _, ok := iri(urls[i]); ok {
			all = append(all, wanted{r.graph.listRange(d, urls[i]), i})
		}
	}
	return r.targetsIn(ctx, d, all, func(i int) string { return urls[i] }, each)
}

// targetsIn is the same for lists, or parts of them, whose pages' URLs are url's.
func (r *reader) targetsIn(ctx context.Context, d links.Direction, all []wanted, url func(item int) string, each func(item int, end []byte) error) error {
	other := far(d)
	last, before := -1, []byte(nil)
	err := r.lookOnce(ctx, all, func(i int, row *row) error {
		page, ok := row.iri(triple.Subject + triple.Object - other)
		if !ok || string(page) != url(i) {
			return nil
		}
		end, ok := row.iri(other)
		// A link in several graphs is one: its rows are beside each other.
		if !ok || i == last && string(end) == string(before) {
			return nil
		}
		last, before = i, append(before[:0], end...)
		return each(i, end)
	})
	if err != nil {
		return fmt.Errorf("look links up: %w", err)
	}
	return nil
}
