// Grants: numbers that no other machine assigns.

package assign

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// firstGrant is the first grant of members. Grants below it belong to a lone node, because it
// needs to claim none.
const firstGrant = uid.NumGrants / 2

// grants are the numbers that this graph may assign.
type grants struct {
	assigning chan struct{} // holds a token while a call assigns UIDs; that call owns the other fields
	all       []uid.Grant
	slots     map[uid.Slot]*uid.Allocator
	hosts     int // in all allocators
}

// maxHosts bounds the hosts that are remembered, some 100 bytes each. If they are dropped,
// their numbers continue in new extents of new grants.
const maxHosts = 1 << 20

// begin waits until no other call assigns UIDs. The caller must call end.
func (gr *grants) begin(ctx context.Context) (end func(), err error) {
	select {
	case gr.assigning <- struct{}{}:
		return func() { <-gr.assigning }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// takeNumbers returns numbers for pages of a host. The caller must have called grants.begin.
func (g *Assigner) takeNumbers(ctx context.Context, slot uid.Slot, hostKey string, n uint64) ([]uid.Run, error) {
	gr := &g.grants
	// 1. If there are too many hosts, start over with a new grant.
	if gr.hosts > maxHosts {
		gr.all, gr.slots, gr.hosts = nil, nil, 0
	}
	if len(gr.all) == 0 {
		if err := g.claimGrant(ctx); err != nil {
			return nil, err
		}
	}
	if gr.slots == nil {
		gr.slots = map[uid.Slot]*uid.Allocator{}
	}
	// 2. Each slot has an allocator over all grants of this process.
	allocator := gr.slots[slot]
	if allocator == nil {
		allocator = uid.NewAllocator(slot, gr.all...)
		gr.slots[slot] = allocator
	}
	// 3. If the grants of the allocator are used up, add the next one, or claim one.
	for {
		runs, err := allocator.Assign(hostKey, n)
		if !errors.Is(err, uid.ErrNeedGrant) {
			if len(runs) > 0 && runs[len(runs)-1].First.Page() == 0 { // a new extent
				gr.hosts++
			}
			return runs, err
		}
		held := allocator.Grants()
		if held == len(gr.all) {
			if err := g.claimGrant(ctx); err != nil {
				return nil, err
			}
		}
		for _, grant := range gr.all[held:] {
			if err := allocator.Grant(grant); err != nil {
				return nil, err
			}
		}
	}
}

// claimGrant claims another grant. The caller must have called grants.begin.
func (g *Assigner) claimGrant(ctx context.Context) error {
	r, err := g.Begin(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	// 1. Find a grant without a claim. The search is a hint, because others claim meanwhile.
	next, err := g.nextGrant(ctx, r)
	if err != nil {
		return fmt.Errorf("claim UIDs: %w", err)
	}
	// 2. Write a claim, and read back which claim is first.
	for ; ; next++ {
		if next < firstGrant { // it is 0 after the last one
			return fmt.Errorf("claim UIDs: %w", uid.ErrNoGrants)
		}
		mine, t := g.newClaim(next)
		if _, err := g.Store.Add(ctx, []triple.Triple{t}); err != nil {
			return fmt.Errorf("claim UIDs: %w", err)
		}
		first, err := g.firstClaimant(ctx, r, t.Subject)
		if err != nil {
			return fmt.Errorf("claim UIDs: %w", err)
		}
		if first == mine {
			g.grants.all = append(g.grants.all, next)
			return nil
		}
		// 3. Another process was first: delete the claim, and try the next grant.
		if _, err := g.Store.Delete(ctx, []triple.Triple{t}); err != nil && !errors.Is(err, store.ErrUnknown) {
			return fmt.Errorf("claim UIDs: %w", err)
		}
	}
}

// newClaim returns a claim that no other call makes, because its name has 128 random bits.
func (g *Assigner) newClaim(grant uid.Grant) (name string, t triple.Triple) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name = g.Store.MachineID().String() + "/" + hex.EncodeToString(random[:])
	return name, triple.Triple{
		Subject:   linkkeys.GrantTerm(grant),
		Predicate: triple.NewIRI(linkkeys.ClaimPredicate),
		Object:    triple.NewString(name),
	}
}

// grantBatch is the number of grants in one look-up.
const grantBatch = 1 << 8

// nextGrant returns the first grant without a known claim, 0 if there is none. The caller must
// claim it to find out if it is free.
func (g *Assigner) nextGrant(ctx context.Context, r *rowreader.Reader) (uid.Grant, error) {
	for from := firstGrant; from < uid.NumGrants; from += grantBatch {
		// 1. Build the ranges of the claims of a batch.
		claimed := make([]bool, min(grantBatch, uid.NumGrants-from))
		all := make([]linkkeys.Wanted, len(claimed))
		for i := range all {
			keys, err := linkkeys.RangeOf(triple.SPO, triple.Pattern{Subject: linkkeys.GrantTerm(uid.Grant(from + i)), Predicate: triple.NewIRI(linkkeys.ClaimPredicate)})
			if err != nil {
				return 0, err
			}
			all[i] = linkkeys.Wanted{Range: keys, Item: i}
		}
		// 2. Look them up. Any claim counts, even if it is not the first one.
		err := r.LookUpOrCopied(ctx, rowreader.CopiedGrants, all, func(i int, _ *linkkeys.Row) error {
			claimed[i] = true
			return nil
		}, func(i int, d *peer.Decoder) error {
			var claims []Claim
			CodeClaims(d.Coder(), &claims)
			claimed[i] = claimed[i] || len(claims) > 0
			return d.Err()
		})
		if err != nil {
			return 0, err
		}
		if i := slices.Index(claimed, false); i >= 0 {
			return uid.Grant(from + i), nil
		}
	}
	return 0, nil
}

// firstClaimant returns the name in the first claim of a grant.
func (g *Assigner) firstClaimant(ctx context.Context, r *rowreader.Reader, grant triple.Term) (name string, err error) {
	keys, err := linkkeys.RangeOf(triple.SPO, triple.Pattern{Subject: grant, Predicate: triple.NewIRI(linkkeys.ClaimPredicate)})
	if err != nil {
		return "", err
	}
	first, err := g.firstClaims(ctx, r, rowreader.CopiedGrants, []linkkeys.Wanted{{Range: keys, Item: 0}}, 1, func(int, *linkkeys.Row) bool { return true })
	if err != nil {
		return "", err
	}
	return first[0].Name, nil
}
