// UIDs of new pages: the primaries assign them.

package assign

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// AssignRounds returns the number of times that UIDs were assigned.
func (a *Assigner) AssignRounds(ctx context.Context) (int, error) {
	unlock, err := a.Assigning.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return a.Allocators.rounds, nil
}

// AssignAll assigns UIDs to pages that had none when assignRounds returned rounds. The node must be
// alone.
func (a *Assigner) AssignAll(ctx context.Context, urls []string, rounds int) error {
	unlock, err := a.Assigning.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// 1. Some of the pages may have UIDs already.
	if a.Allocators.rounds != rounds {
		found, err := pagerows.FindUIDs(ctx, a.Node, urls)
		if err != nil {
			return err
		}
		rest := urls[:0]
		for i, url := range urls {
			if found[i] == 0 {
				rest = append(rest, url)
			}
		}
		urls = rest
	}
	// 2. Very many pages get them by a bulk load.
	given, all := 0, len(urls)
	if all >= a.Options.Limits.LoadedPages {
		a.board.Say("%d new pages get UIDs", all)
		return a.Allocators.Load(ctx, urls, a.Options.BuildBytes)
	}
	return a.Allocators.assign(ctx, urls, func(some []Assigned) error {
		given += len(some)
		a.board.Say("%d of %d new pages have UIDs", given, all)
		return nil
	})
}

// Assigner assigns UIDs to pages whose primary is this machine, and requests those of others.
//
// No number is assigned twice, and no page gets two:
//
//   - Under one view a partition has one primary.
//   - The writes of UIDs are fenced: they are stamped in the epoch of that view, or refused.
//   - A primary begins an epoch when all operations of earlier epochs are committed. Then the rows
//     have all UIDs that an earlier primary has assigned, and it reads them.
//   - If the outcome of a write is unknown, the page keeps the number until the epoch ends, because
//     the write may still be committed.
type Assigner struct {
	*machine.Machine
	hosts  *pagerows.Hosts
	board  *state.Board
	router *route.Router

	Assigning  derived.Lock // must be held while UIDs are assigned, and guards the next two
	Allocators allocators
	epoch      uint64 // the last one that was begun

	// Known is replaced if UIDs may have been forgotten. That must be after the state without
	// them is published.
	Known atomic.Pointer[known]
}

// NewAssigner returns an assigner that knows no UID.
func NewAssigner(h *pagerows.Hosts, r *route.Router) *Assigner {
	a := &Assigner{Machine: r.Machine, hosts: h, board: r.Board, router: r, Assigning: derived.NewLock()}
	a.Allocators = allocators{Machine: r.Machine}
	a.Forget()
	return a
}

// Forget makes the UIDs of recently changed pages and the mark be looked up again.
func (a *Assigner) Forget() {
	a.Known.Store(NewKnown())
	a.Allocators.marked.Store(false)
}

// errNotPrimary is the refusal of a machine that does not assign the UIDs of a partition.
func (a *Assigner) errNotPrimary(epoch uint64) error {
	return peer.Refuse(peer.CodeNotOwner, epoch, "machine %s does not assign these UIDs", a.Node.MachineID())
}

// BeginTerm returns a context for writes a the primary of partitions. The caller must hold the
// lock assigning.
func (a *Assigner) BeginTerm(ctx context.Context, set derived.Partitions) (context.Context, error) {
	// 1. A lone machine is the primary of all.
	v := a.Node.View()
	switch {
	case a.Node.Lone() != nil:
		return ctx, nil
	case v == nil:
		return nil, machine.ErrNoView
	}
	p := a.PlacementOf(v)
	for i := range set.All() {
		if p.Primary(i) != a.Node.MachineID() {
			return nil, a.errNotPrimary(v.Epoch)
		}
	}
	// 2. Begin the epoch. If one was left out, another machine may have been the primary in it.
	fenced, err := a.Node.Fence(ctx, v.Epoch)
	if err == nil && a.epoch != v.Epoch {
		a.Allocators.forget()
		a.epoch = v.Epoch
	}
	return fenced, err
}

// Resolve sets the UIDs of pages that are in no cell of this machine: the one in the store, or a
// new one. It returns the number of new ones. It overwrites unknown.
func (a *Assigner) Resolve(ctx context.Context, unknown []string, ends map[string]uid.UID) (given int64, err error) {
	for tries := 0; len(unknown) > 0; tries++ {
		if tries > 0 {
			if err := a.router.WaitRetry(ctx, tries, err); err != nil {
				return given, err
			}
		}
		// 1. Group the pages by their primaries.
		groups := map[trie.MachineID][]string{}
		v := a.Node.View()
		for _, url := range unknown {
			m := a.Node.MachineID()
			if v != nil {
				m = a.PlacementOf(v).Primary(machine.PartitionOfURL(url))
			}
			groups[m] = append(groups[m], url)
		}
		// 2. Request the UIDs. What fails is tried again, perhaps under another view.
		unknown = unknown[:0:0]
		err = nil
		for m, urls := range groups {
			for some := range route.ChunkURLs(urls, assignBatch, a.Options.MessageBytes) {
				n, failed := a.requestUIDs(ctx, m, some, ends)
				given += n
				if failed != nil {
					if !machine.MayPass(failed) {
						return given, failed
					}
					err = failed
					unknown = append(unknown, some...)
				}
			}
		}
	}
	for url, u := range ends {
		a.hosts.Add(u.Extent(), []byte(url))
	}
	return given, nil
}

// requestUIDs sets the UIDs of pages by their primary.
func (a *Assigner) requestUIDs(ctx context.Context, primary trie.MachineID, urls []string, ends map[string]uid.UID) (given int64, err error) {
	if primary == a.Node.MachineID() {
		uids, given, err := a.Assign(ctx, urls)
		for i, u := range uids {
			ends[urls[i]] = u
		}
		return given, err
	}
	found, err := a.router.Send(ctx, primary, &route.Query{Kind: route.QueryAssign, URLs: urls})
	if err != nil {
		return 0, err
	}
	if len(found.Items) != len(urls) {
		return 0, fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(found.Items), len(urls))
	}
	for i, u := range found.Items {
		ends[urls[i]] = uid.UID(u)
	}
	return int64(found.Number), nil
}

// Assign returns the UIDs of pages whose primary is this machine, and assigns new ones to those
// that have none. given is the number of new ones.
func (a *Assigner) Assign(ctx context.Context, urls []string) (uids []uid.UID, given int64, err error) {
	// 1. The lock must be held from the look-up to the assignment, because a page must not get
	// two UIDs.
	unlock, err := a.Assigning.Lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	var set derived.Partitions
	for _, url := range urls {
		set = set.With(machine.PartitionOfURL(url))
	}
	fenced, err := a.BeginTerm(ctx, set)
	if err != nil {
		return nil, 0, err
	}
	// 2. Look in the cells, then in the store. In a cluster only the store counts: the cells may have
	// pages whose UIDs were deleted a moment ago, and a later primary could not know these UIDs.
	uids = make([]uid.UID, len(urls))
	s := a.board.State.Load()
	var missing []string
	var places []int
	for i, url := range urls {
		if s != nil && a.Node.Lone() != nil {
			uids[i], _ = s.LookUp(url)
		}
		if uids[i] == 0 {
			missing, places = append(missing, url), append(places, i)
		}
	}
	found, err := pagerows.FindUIDs(ctx, a.Node, missing)
	if err != nil {
		return nil, 0, err
	}
	rest := map[string][]int{}
	var unnamed []string
	for i, u := range found {
		if uids[places[i]] = u; u == 0 && pagerows.ValidPage(missing[i]) {
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
	err = a.Allocators.assign(fenced, unnamed, func(some []Assigned) error {
		given += int64(len(some))
		for _, page := range some {
			for _, i := range rest[page.URL] {
				uids[i] = page.UID
			}
		}
		return nil
	})
	if err != nil {
		return nil, given, err
	}
	return uids, given, nil
}
