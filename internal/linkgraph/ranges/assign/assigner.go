// Assigner: a page gets its UID, at the machine that owns its slot.

package assign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Assigner assigns UIDs to pages, and looks them up.
type Assigner struct {
	*rowreader.Readers
	// Committed is an epoch before which every operation is committed.
	Committed atomic.Uint64
	cache     cache
	grants    grants
}

// New returns an Assigner whose cache takes about knownBytes of memory.
func New(r *rowreader.Readers, knownBytes int64) *Assigner {
	a := &Assigner{Readers: r}
	a.grants.assigning = make(chan struct{}, 1)
	a.cache.init(knownBytes)
	return a
}

// page is a page without a known UID.
type page struct {
	slot  uid.Slot
	host  string // its key
	url   string
	index int // of the requested URLs
}

// MaxAssigned is the number of pages in one call that assigns UIDs.
const MaxAssigned = 10_000

// RequestUIDs returns a UID for each URL and assigns one if the page has none. An invalid URL
// gets 0. The request goes to the machines that assign the UIDs of the slots. If one fails,
// this machine assigns.
func (g *Assigner) RequestUIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	// 1. Group the pages by the machine that assigns their slots.
	given := make([]uid.UID, len(urls))
	byOwner := map[trie.MachineID][]page{}
	owners := map[uid.Slot]trie.MachineID{}
	for i, url := range urls {
		if _, ok := linkkeys.NewIRI(url); !ok {
			continue
		}
		p := page{host: weburl.HostKey(url), url: url, index: i}
		p.slot = uid.SlotOf(p.host)
		owner, ok := owners[p.slot]
		if !ok {
			owner = g.assignerOf(p.slot)
			owners[p.slot] = owner
		}
		byOwner[owner] = append(byOwner[owner], p)
	}
	// 2. Assign. Any member may assign, so a failed request is replaced by local work.
	for owner, all := range byOwner {
		for pages := range slices.Chunk(all, MaxAssigned) {
			if owner != g.Store.MachineID() && g.assignRemote(ctx, owner, pages, given) == nil {
				continue
			}
			if err := g.retryLocal(ctx, pages, given); err != nil {
				return nil, fmt.Errorf("give UIDs to %d pages: %w", len(pages), err)
			}
		}
	}
	return given, nil
}

// retryLocal is assignLocal, retried while a machine is down.
func (g *Assigner) retryLocal(ctx context.Context, pages []page, given []uid.UID) error {
	trying := rowreader.Reader{Readers: g.Readers}
	for {
		err := g.assignLocal(ctx, pages, given)
		if !errors.Is(err, store.ErrUnavailable) || !trying.WaitRetry(ctx) {
			return err
		}
	}
}

// assignerOf returns the machine that assigns the UIDs of a slot: the reader of their range, or
// its next owner if that one is down.
func (g *Assigner) assignerOf(slot uid.Slot) trie.MachineID {
	v := g.Store.View()
	keys, err := linkkeys.UIDRange(uid.Slots{First: slot, Last: slot}.Range())
	if v == nil || err != nil {
		return g.Store.MachineID()
	}
	joint := v.Joint()
	owner, live := joint.Reader(keys.Lo)
	if !live {
		owner = joint.Target.Placement.Owner(joint.Target.Trie.Lookup(keys.Lo))
	}
	if v.Find(owner) == nil || g.IsDown(owner) {
		return g.Store.MachineID()
	}
	return owner
}

// MethodAssign requests UIDs from a member. The request is a count and the URLs, the answer a
// count and the UIDs.
const MethodAssign = "links/name"

// assignRemote requests UIDs from another machine.
func (g *Assigner) assignRemote(ctx context.Context, to trie.MachineID, pages []page, given []uid.UID) error {
	answer, err := g.CallOwner(ctx, to, MethodAssign, peer.Encode(64*len(pages), codeAssign(&pages)))
	if err != nil {
		return err
	}
	var uids []uid.UID
	if err := peer.Decode(answer, codeAssigned(&uids, len(pages))); err != nil {
		return err
	}
	for i, p := range pages {
		given[p.index] = uids[i]
	}
	return nil
}

// HandleAssign handles links/name.
func (g *Assigner) HandleAssign(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var pages []page
	if err := peer.Decode(body, codeAssign(&pages)); err != nil {
		return nil, err
	}
	for i, p := range pages {
		host := weburl.HostKey(p.url)
		pages[i] = page{uid.SlotOf(host), host, p.url, i}
	}
	given := make([]uid.UID, len(pages))
	if err := g.assignLocal(ctx, pages, given); err != nil {
		return nil, err
	}
	return peer.Encode(9*len(given), codeAssigned(&given, len(given))), nil
}

// assignLocal assigns UIDs to pages that still have none. When it returns, the UIDs are durable
// and never change.
func (g *Assigner) assignLocal(ctx context.Context, pages []page, given []uid.UID) error {
	r, err := g.Begin(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	end, err := g.grants.begin(ctx) // because one machine must give a page only one number
	if err != nil {
		return err
	}
	defer end()
	// 1. Look up again, because another call may have assigned UIDs before this one began.
	urls := make([]string, len(pages))
	for i, p := range pages {
		urls[i] = p.url
	}
	found, err := g.LookUpUIDs(ctx, r, urls)
	if err != nil {
		return err
	}
	var without []page
	for i, u := range found {
		if given[pages[i].index] = u; u == 0 {
			without = append(without, pages[i])
		}
	}
	if len(without) == 0 {
		return nil
	}
	// 2. Write new UIDs, and read them back: the claim with the lowest stamp counts.
	mine, err := g.writeUIDs(ctx, without)
	if err != nil {
		return err
	}
	urls = urls[:0]
	for _, p := range without {
		urls = append(urls, p.url)
	}
	if found, err = g.LookUpUIDs(ctx, r, urls); err != nil {
		return err
	}
	// 3. Delete the UIDs that were not first.
	var late []triple.Triple
	for i, p := range without {
		if found[i] == 0 {
			return fmt.Errorf("%w: somebody has deleted the UID of %s", store.ErrUnavailable, p.url)
		}
		if given[p.index] = found[i]; found[i] != mine[p.url] {
			late = append(late, links.UIDTriple(p.url, mine[p.url]))
		}
	}
	if len(late) == 0 {
		return nil
	}
	if _, err := g.Store.Delete(ctx, late); err != nil && !errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("delete the second UIDs of %d pages: %w", len(late), err)
	}
	return nil
}

// writeUIDs takes numbers for pages and writes their triples. The pages of a host are numbered
// in the order of their URLs. The caller must have called grants.begin.
func (g *Assigner) writeUIDs(ctx context.Context, pages []page) (map[string]uid.UID, error) {
	// 1. Sort by host, because a host's numbers must be close together. Each URL is kept once.
	slices.SortFunc(pages, func(a, b page) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), strings.Compare(a.host, b.host), strings.Compare(a.url, b.url))
	})
	pages = slices.CompactFunc(slices.Clone(pages), func(a, b page) bool { return a.url == b.url })
	mine := make(map[string]uid.UID, len(pages))
	var triples []triple.Triple
	// 2. Take the numbers of each host. The first page of an extent also writes the host.
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n].host == pages[0].host {
			n++
		}
		host := pages[:n]
		pages = pages[n:]
		runs, err := g.takeNumbers(ctx, host[0].slot, host[0].host, uint64(n))
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if run.First.Page() == 0 {
				triples = append(triples, links.HostTriple(run.First.Extent(), host[0].host))
			}
			for i := range run.Count {
				u := run.First + uid.UID(i)
				mine[host[i].url] = u
				triples = append(triples, links.UIDTriple(host[i].url, u))
			}
			host = host[run.Count:]
		}
	}
	// 3. Write all triples in one batch.
	_, err := g.Store.Add(ctx, triples)
	return mine, err
}
