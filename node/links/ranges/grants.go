// Numbers that nobody else gives.

package ranges

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

// firstGrant is the first grant of members; those below are for a node that is alone,
// which needs to claim none.
const firstGrant = uid.NumGrants / 2

const (
	grantPrefix    = "urn:trefoil:grant:"
	claimPredicate = "urn:trefoil:claimedBy"
)

// Journal returns the predicates that the journals of members have to tell of
// (node.Options.Journal), where links have the given one.
func Journal(predicate string) []string {
	return []string{predicate, links.UIDPredicate, claimPredicate}
}

// grants are the numbers that this graph may give.
type grants struct {
	giving chan struct{} // holds a token while somebody gives UIDs, who has the rest then
	all    []uid.Grant
	slots  map[uid.Slot]*uid.Allocator
	hosts  int // in all allocators
}

// maxHosts bounds what is kept of hosts, some 100 bytes each. What is forgotten costs
// further extents: numbers go on with new grants then.
const maxHosts = 1 << 20

// begin waits until nobody else gives UIDs; end is to be called.
func (gr *grants) begin(ctx context.Context) (end func(), err error) {
	select {
	case gr.giving <- struct{}{}:
		return func() { <-gr.giving }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// take gives numbers for further pages of a host, to whoever gives UIDs.
func (g *Graph) take(ctx context.Context, slot uid.Slot, hostKey string, n uint64) ([]uid.Run, error) {
	gr := &g.grants
	if gr.hosts > maxHosts {
		gr.all, gr.slots, gr.hosts = nil, nil, 0
	}
	if len(gr.all) == 0 {
		if err := g.claim(ctx); err != nil {
			return nil, err
		}
	}
	if gr.slots == nil {
		gr.slots = map[uid.Slot]*uid.Allocator{}
	}
	allocator := gr.slots[slot]
	if allocator == nil {
		allocator = uid.NewAllocator(slot, gr.all...)
		gr.slots[slot] = allocator
	}
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
			if err := g.claim(ctx); err != nil {
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

// claim claims a further grant, for whoever gives UIDs.
func (g *Graph) claim(ctx context.Context) error {
	r, err := g.begin(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	next, err := r.nextGrant(ctx)
	if err != nil {
		return fmt.Errorf("claim UIDs: %w", err)
	}
	for ; ; next++ {
		if next < firstGrant { // it is 0 after the last one
			return fmt.Errorf("claim UIDs: %w", uid.ErrNoGrants)
		}
		mine, t := g.newClaim(next)
		if _, err := g.store.Add(ctx, []triple.Triple{t}); err != nil {
			return fmt.Errorf("claim UIDs: %w", err)
		}
		first, err := r.claimant(ctx, t.Subject)
		if err != nil {
			return fmt.Errorf("claim UIDs: %w", err)
		}
		if first == mine {
			g.grants.all = append(g.grants.all, next)
			return nil
		}
		if _, err := g.store.Delete(ctx, []triple.Triple{t}); err != nil && !errors.Is(err, node.ErrUnknown) {
			return fmt.Errorf("claim UIDs: %w", err)
		}
	}
}

// newClaim returns a claim that nobody else makes.
func (g *Graph) newClaim(grant uid.Grant) (name string, t triple.Triple) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name = g.store.MachineID().String() + "/" + hex.EncodeToString(random[:])
	return name, triple.Triple{
		Subject:   grantTerm(grant),
		Predicate: triple.NewIRI(claimPredicate),
		Object:    triple.NewString(name),
	}
}

// lookedGrants is how many grants are looked up at a time.
const lookedGrants = 1 << 8

// nextGrant returns the first grant that nobody is known to have claimed; 0 where there is
// none. Who claims it finds out whether that is so.
func (r *reader) nextGrant(ctx context.Context) (uid.Grant, error) {
	for from := firstGrant; from < uid.NumGrants; from += lookedGrants {
		claimed := make([]bool, min(lookedGrants, uid.NumGrants-from))
		all := make([]wanted, len(claimed))
		for i := range all {
			keys, err := rangeOf(triple.SPO, triple.Pattern{Subject: grantTerm(uid.Grant(from + i)), Predicate: triple.NewIRI(claimPredicate)})
			if err != nil {
				return 0, err
			}
			all[i] = wanted{keys, i}
		}
		err := r.lookEither(ctx, copiedGrants, all, func(i int, _ *row) error {
			claimed[i] = true
			return nil
		}, func(i int, d *peer.Decoder) error {
			claims, err := readClaims(d)
			claimed[i] = claimed[i] || len(claims) > 0
			return err
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

// grantTerm returns the subject of the claims of a grant.
func grantTerm(grant uid.Grant) triple.Term {
	return triple.NewIRI(grantPrefix + strconv.Itoa(int(grant)))
}

// claimant returns who claimed a grant first.
func (r *reader) claimant(ctx context.Context, grant triple.Term) (name string, err error) {
	keys, err := rangeOf(triple.SPO, triple.Pattern{Subject: grant, Predicate: triple.NewIRI(claimPredicate)})
	if err != nil {
		return "", err
	}
	first, err := r.firsts(ctx, copiedGrants, []wanted{{keys, 0}}, 1, func(int, *row) bool { return true })
	if err != nil {
		return "", err
	}
	return first[0].name, nil
}
