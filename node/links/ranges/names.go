// Giving UIDs to pages.

package ranges

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// namedAtOnce is how many pages get UIDs at a time.
const namedAtOnce = 10_000

// page is one that has no UID, as far as is known.
type page struct {
	slot  uid.Slot
	host  string // its key
	url   string
	index int // of those asked for
}

// name returns the UIDs of pages, which get some where they have none: 0 for what no
// page can be called. Machines that give the UIDs of slots are asked for theirs; what
// they do not do, this one does.
func (g *Graph) name(ctx context.Context, urls []string) ([]uid.UID, error) {
	given := make([]uid.UID, len(urls))
	byOwner := map[trie.MachineID][]page{}
	owners := map[uid.Slot]trie.MachineID{}
	for i, url := range urls {
		if _, ok := iri(url); !ok {
			continue
		}
		p := page{host: weburl.HostKey(url), url: url, index: i}
		p.slot = uid.SlotOf(p.host)
		owner, ok := owners[p.slot]
		if !ok {
			owner = g.giver(p.slot)
			owners[p.slot] = owner
		}
		byOwner[owner] = append(byOwner[owner], p)
	}
	for owner, all := range byOwner {
		for pages := range slices.Chunk(all, namedAtOnce) {
			if owner != g.store.MachineID() && g.nameThere(ctx, owner, pages, given) == nil {
				continue
			}
			if err := g.nameAgain(ctx, pages, given); err != nil {
				return nil, fmt.Errorf("give UIDs to %d pages: %w", len(pages), err)
			}
		}
	}
	return given, nil
}

// nameAgain is nameHere, and that again where it is in vain since a machine is away.
func (g *Graph) nameAgain(ctx context.Context, pages []page, given []uid.UID) error {
	trying := reader{graph: g}
	for {
		err := g.nameHere(ctx, pages, given)
		if !errors.Is(err, node.ErrUnavailable) || !trying.again(ctx) {
			return err
		}
	}
}

// giver returns the machine that gives the UIDs of a slot: the one that reads where they
// begin, or will while that one is dead.
func (g *Graph) giver(slot uid.Slot) trie.MachineID {
	v := g.store.View()
	keys, err := uidRange(uid.Slots{First: slot, Last: slot}.Range())
	if v == nil || err != nil {
		return g.store.MachineID()
	}
	joint := v.Joint()
	owner, live := joint.Reader(keys.Lo)
	if !live {
		owner = joint.Target.Placement.Owner(joint.Target.Trie.Lookup(keys.Lo))
	}
	if v.Find(owner) == nil || g.isAway(owner) {
		return g.store.MachineID()
	}
	return owner
}

// methodName asks a member to give UIDs. The request is a count and as many URLs, the
// answer as many UIDs.
const methodName = "links/name"

// nameThere has another machine give UIDs to pages.
func (g *Graph) nameThere(ctx context.Context, to trie.MachineID, pages []page, given []uid.UID) error {
	e := peer.NewEncoder(64 * len(pages))
	e.Uvarint(uint64(len(pages)))
	for _, p := range pages {
		e.String(p.url)
	}
	answer, err := g.callOwner(ctx, to, methodName, e.Data())
	if err != nil {
		return err
	}
	uids, err := parseNamed(answer, len(pages))
	if err != nil {
		return err
	}
	for i, p := range pages {
		given[p.index] = uids[i]
	}
	return nil
}

func (g *Graph) handleName(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	urls, err := parseNames(body)
	if err != nil {
		return nil, err
	}
	n := len(urls)
	pages := make([]page, 0, n)
	for i, url := range urls {
		host := weburl.HostKey(url)
		pages = append(pages, page{uid.SlotOf(host), host, url, i})
	}
	given := make([]uid.UID, n)
	if err := g.nameHere(ctx, pages, given); err != nil {
		return nil, err
	}
	e := peer.NewEncoder(9 * n)
	e.Uvarint(uint64(n))
	for _, u := range given {
		e.Uvarint(uint64(u))
	}
	return e.Data(), nil
}

// nameHere gives UIDs to those pages that have none still. They are durable when it
// returns, and for good.
func (g *Graph) nameHere(ctx context.Context, pages []page, given []uid.UID) error {
	r, err := g.begin(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	end, err := g.grants.begin(ctx) // so that one machine gives a page one number
	if err != nil {
		return err
	}
	defer end()
	urls := make([]string, len(pages))
	for i, p := range pages {
		urls[i] = p.url
	}
	found, err := r.uids(ctx, urls)
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
	mine, err := g.write(ctx, without)
	if err != nil {
		return err
	}
	urls = urls[:0]
	for _, p := range without {
		urls = append(urls, p.url)
	}
	if found, err = r.uids(ctx, urls); err != nil {
		return err
	}
	var late []triple.Triple
	for i, p := range without {
		if found[i] == 0 {
			return fmt.Errorf("%w: somebody has deleted the UID of %s", node.ErrUnavailable, p.url)
		}
		if given[p.index] = found[i]; found[i] != mine[p.url] {
			late = append(late, links.UIDTriple(p.url, mine[p.url]))
		}
	}
	if len(late) == 0 {
		return nil
	}
	if _, err := g.store.Delete(ctx, late); err != nil && !errors.Is(err, node.ErrUnknown) {
		return fmt.Errorf("delete the second UIDs of %d pages: %w", len(late), err)
	}
	return nil
}

// write gives numbers to pages and writes them, those of a host in the order of their
// URLs, for whoever gives UIDs.
func (g *Graph) write(ctx context.Context, pages []page) (map[string]uid.UID, error) {
	slices.SortFunc(pages, func(a, b page) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), strings.Compare(a.host, b.host), strings.Compare(a.url, b.url))
	})
	pages = slices.CompactFunc(slices.Clone(pages), func(a, b page) bool { return a.url == b.url })
	mine := make(map[string]uid.UID, len(pages))
	var triples []triple.Triple
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n].host == pages[0].host {
			n++
		}
		host := pages[:n]
		pages = pages[n:]
		runs, err := g.take(ctx, host[0].slot, host[0].host, uint64(n))
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
	_, err := g.store.Add(ctx, triples)
	return mine, err
}
