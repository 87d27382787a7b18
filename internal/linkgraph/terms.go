// UIDs of new pages: the primaries assign them.

package linkgraph

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// assigner assigns UIDs to pages whose primary is this machine, and requests those of others.
//
// No number is assigned twice, and no page gets two:
//
//   - Under one view a partition has one primary.
//   - The writes of UIDs are fenced: they are stamped in the epoch of that view, or refused.
//   - A primary begins an epoch when all operations of earlier epochs are committed. Then the rows
//     have all UIDs that an earlier primary has assigned, and it reads them.
//   - If the outcome of a write is unknown, the page keeps the number until the epoch ends, because
//     the write may still be committed.
type assigner struct {
	*machine
	forms  *forms
	hosts  *hosts
	board  *board
	router *router

	assigning  lock // must be held while UIDs are assigned, and guards the next two
	allocators allocators
	epoch      uint64 // the last one that was begun

	// known is replaced if UIDs may have been forgotten. That must be after the state without
	// them is published.
	known atomic.Pointer[known]
}

// newAssigner returns an assigner that knows no UID.
func newAssigner(f *forms, h *hosts, r *router) *assigner {
	a := &assigner{machine: f.machine, forms: f, hosts: h, board: r.board, router: r, assigning: newLock()}
	a.allocators = allocators{machine: f.machine, forms: f}
	a.forget()
	return a
}

// forget makes the UIDs of recently changed pages be looked up again.
func (a *assigner) forget() { a.known.Store(newKnown()) }

// errNotPrimary is the refusal of a machine that does not assign the UIDs of a partition.
func (a *assigner) errNotPrimary(epoch uint64) error {
	return peer.Refuse(peer.CodeNotOwner, epoch, "machine %s does not assign these UIDs", a.node.MachineID())
}

// beginTerm returns a context for writes a the primary of partitions. The caller must hold the
// lock assigning.
func (a *assigner) beginTerm(ctx context.Context, set partitionSet) (context.Context, error) {
	// 1. A lone machine is the primary of all.
	v := a.node.View()
	switch {
	case a.node.Lone() != nil:
		return ctx, nil
	case v == nil:
		return nil, errNoView
	}
	p := a.placementOf(v)
	for i := range set.all() {
		if p.primary(i) != a.node.MachineID() {
			return nil, a.errNotPrimary(v.Epoch)
		}
	}
	// 2. Begin the epoch. If one was left out, another machine may have been the primary in it.
	fenced, err := a.node.Fence(ctx, v.Epoch)
	if err == nil && a.epoch != v.Epoch {
		a.allocators.forget()
		a.epoch = v.Epoch
	}
	return fenced, err
}

// resolve sets the UIDs of pages that are in no cell of this machine: the one in the store, or a
// new one. It returns the number of new ones. It overwrites unknown.
func (a *assigner) resolve(ctx context.Context, unknown []string, ends map[string]uid.UID) (given int64, err error) {
	for tries := 0; len(unknown) > 0; tries++ {
		if tries > 0 {
			if err := a.router.waitRetry(ctx, tries, err); err != nil {
				return given, err
			}
		}
		// 1. Group the pages by their primaries.
		groups := map[trie.MachineID][]string{}
		v := a.node.View()
		for _, url := range unknown {
			m := a.node.MachineID()
			if v != nil {
				m = a.placementOf(v).primary(partitionOfURL(url))
			}
			groups[m] = append(groups[m], url)
		}
		// 2. Request the UIDs. What fails is tried again, perhaps under another view.
		unknown = unknown[:0:0]
		err = nil
		for m, urls := range groups {
			for some := range chunkURLs(urls, assignBatch, a.o.MessageBytes) {
				n, failed := a.requestUIDs(ctx, m, some, ends)
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
		a.hosts.add(u.Extent(), []byte(url))
	}
	return given, nil
}

// requestUIDs sets the UIDs of pages by their primary.
func (a *assigner) requestUIDs(ctx context.Context, primary trie.MachineID, urls []string, ends map[string]uid.UID) (given int64, err error) {
	if primary == a.node.MachineID() {
		uids, given, err := a.assign(ctx, urls)
		for i, u := range uids {
			ends[urls[i]] = u
		}
		return given, err
	}
	found, err := a.router.send(ctx, primary, &query{kind: askAssign, urls: urls})
	if err != nil {
		return 0, err
	}
	if len(found.items) != len(urls) {
		return 0, fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(found.items), len(urls))
	}
	for i, u := range found.items {
		ends[urls[i]] = uid.UID(u)
	}
	return int64(found.number), nil
}

// assign returns the UIDs of pages whose primary is this machine, and assigns new ones to those
// that have none. given is the number of new ones.
func (a *assigner) assign(ctx context.Context, urls []string) (uids []uid.UID, given int64, err error) {
	// 1. The lock must be held from the look-up to the assignment, because a page must not get
	// two UIDs.
	unlock, err := a.assigning.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	var set partitionSet
	for _, url := range urls {
		set = set.with(partitionOfURL(url))
	}
	fenced, err := a.beginTerm(ctx, set)
	if err != nil {
		return nil, 0, err
	}
	// 2. Look in the cells, then in the store. In a cluster only the store counts: the cells may have
	// pages whose UIDs were deleted a moment ago, and a later primary could not know these UIDs.
	uids = make([]uid.UID, len(urls))
	s := a.board.state.Load()
	var missing []string
	var places []int
	for i, url := range urls {
		if s != nil && a.node.Lone() != nil {
			uids[i], _ = s.lookUp(url)
		}
		if uids[i] == 0 {
			missing, places = append(missing, url), append(places, i)
		}
	}
	f, err := a.forms.form(ctx)
	if err != nil {
		return nil, 0, err
	}
	found, err := f.findUIDs(ctx, a.node, missing)
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
	err = a.allocators.assign(fenced, f, unnamed, func(some []assigned) error {
		given += int64(len(some))
		for _, page := range some {
			for _, i := range rest[page.url] {
				uids[i] = page.uid
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
