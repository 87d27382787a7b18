// UIDs of new pages: the primaries assign them.

package linkgraph

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// terms is what a machine knows of its time as a primary. Graph.assigning guards it.
//
// No number is assigned twice, and no page gets two:
//
//   - Under one view a partition has one primary.
//   - The writes of UIDs are fenced: they are stamped in the epoch of that view, or refused.
//   - A primary begins an epoch when all operations of earlier epochs are committed. Then the rows
//     have all UIDs that an earlier primary has assigned, and it reads them.
//   - If the outcome of a write is unknown, the page keeps the number until the epoch ends, because
//     the write may still be committed.
type terms struct {
	epoch uint64 // the last one that was begun
}

// errNotPrimary is the refusal of a machine that does not assign the UIDs of a partition.
func (g *Graph) errNotPrimary(epoch uint64) error {
	return peer.Refuse(peer.CodeNotOwner, epoch, "machine %s does not assign these UIDs", g.node.MachineID())
}

// beginTerm returns a context for writes as the primary of partitions. The caller must hold the
// lock assigning.
func (g *Graph) beginTerm(ctx context.Context, set partitionSet) (context.Context, error) {
	// 1. A lone machine is the primary of all.
	v := g.node.View()
	switch {
	case g.node.Lone() != nil:
		return ctx, nil
	case v == nil:
		return nil, errNoView
	}
	p := g.placementOf(v)
	for i := range set.all() {
		if p.primary(i) != g.node.MachineID() {
			return nil, g.errNotPrimary(v.Epoch)
		}
	}
	// 2. Begin the epoch. If one was left out, another machine may have been the primary in it.
	fenced, err := g.node.Fence(ctx, v.Epoch)
	if err == nil && g.terms.epoch != v.Epoch {
		g.assigner.forget()
		g.terms.epoch = v.Epoch
	}
	return fenced, err
}

// resolve sets the UIDs of pages that are in no cell of this machine: the one in the store, or a
// new one. It returns the number of new ones. It overwrites unknown.
func (g *Graph) resolve(ctx context.Context, unknown []string, ends map[string]uid.UID) (given int64, err error) {
	for tries := 0; len(unknown) > 0; tries++ {
		if tries > 0 {
			if err := g.waitRetry(ctx, tries, err); err != nil {
				return given, err
			}
		}
		// 1. Group the pages by their primaries.
		groups := map[trie.MachineID][]string{}
		v := g.node.View()
		for _, url := range unknown {
			m := g.node.MachineID()
			if v != nil {
				m = g.placementOf(v).primary(partitionOfURL(url))
			}
			groups[m] = append(groups[m], url)
		}
		// 2. Request the UIDs. What fails is tried again, perhaps under another view.
		unknown = unknown[:0:0]
		err = nil
		for m, urls := range groups {
			for some := range chunkURLs(urls, assignBatch, g.o.MessageBytes) {
				n, failed := g.requestUIDs(ctx, m, some, ends)
				given += n
				if failed != nil {
					if !mayPass(failed) {
						return given, failed
					}
					err = failed
					unknown = append(unknown, some...)
				}
			}
		}
	}
	for url, u := range ends {
		g.hosts.add(u.Extent(), []byte(url))
	}
	return given, nil
}

// requestUIDs sets the UIDs of pages by their primary.
func (g *Graph) requestUIDs(ctx context.Context, primary trie.MachineID, urls []string, ends map[string]uid.UID) (given int64, err error) {
	if primary == g.node.MachineID() {
		uids, given, err := g.assign(ctx, urls)
		for i, u := range uids {
			ends[urls[i]] = u
		}
		return given, err
	}
	a, err := g.send(ctx, primary, &query{kind: askAssign, urls: urls})
	if err != nil {
		return 0, err
	}
	if len(a.items) != len(urls) {
		return 0, fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(a.items), len(urls))
	}
	for i, u := range a.items {
		ends[urls[i]] = uid.UID(u)
	}
	return int64(a.number), nil
}

// assign returns the UIDs of pages whose primary is this machine, and assigns new ones to those
// that have none. given is the number of new ones.
func (g *Graph) assign(ctx context.Context, urls []string) (uids []uid.UID, given int64, err error) {
	// 1. The lock must be held from the look-up to the assignment, because a page must not get
	// two UIDs.
	unlock, err := g.assigning.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	var set partitionSet
	for _, url := range urls {
		set = set.with(partitionOfURL(url))
	}
	fenced, err := g.beginTerm(ctx, set)
	if err != nil {
		return nil, 0, err
	}
	// 2. Look in the cells, then in the store. In a cluster only the store counts: the cells may have
	// pages whose UIDs were deleted a moment ago, and a later primary could not know these UIDs.
	uids = make([]uid.UID, len(urls))
	s := g.state.Load()
	var missing []string
	var places []int
	for i, url := range urls {
		if s != nil && g.node.Lone() != nil {
			uids[i], _ = s.lookUp(url)
		}
		if uids[i] == 0 {
			missing, places = append(missing, url), append(places, i)
		}
	}
	f, err := g.form(ctx)
	if err != nil {
		return nil, 0, err
	}
	found, err := f.findUIDs(ctx, g.node, missing)
	if err != nil {
		return nil, 0, err
	}
	rest := map[string][]int{}
	var unnamed []string
	for i, u := range found {
		if uids[places[i]] = u; u == 0 && validPage(missing[i]) {
			if rest[missing[i]] == nil {
				unnamed = append(unnamed, missing[i])
			}
			rest[missing[i]] = append(rest[missing[i]], places[i])
		}
	}
	if len(unnamed) == 0 {
		return uids, 0, nil
	}
	// 3. Assign the rest.
	err = g.assigner.assign(fenced, f, unnamed, func(some []assigned) error {
		given += int64(len(some))
		for _, a := range some {
			for _, i := range rest[a.url] {
				uids[i] = a.uid
			}
		}
		return nil
	})
	if err != nil {
		return nil, given, err
	}
	return uids, given, nil
}

// validPage reports whether a page may have the URL.
func validPage(url string) bool {
	return triple.NewIRI(url).Check() == nil && triple.NewIRI(links.PagePrefix+url).Check() == nil
}

// mayPass reports whether a retry may help after an error, perhaps under another view.
func mayPass(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	switch {
	case errors.Is(err, errUnreachable): // a dial that ended by its own timeout is a context.DeadlineExceeded, too
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrClosed):
		return false
	case errors.As(err, &refusal):
		switch refusal.Code {
		case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy, peer.CodeMethod:
			return true
		}
		return false
	case errors.As(err, &failed):
		return false
	}
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, links.ErrLoading)
}
