// Claims: of several UIDs of a page, or claims of a grant, the first one counts.

package assign

import (
	"context"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Claim is one of several objects of a subject and a predicate. The one that was written first
// counts.
type Claim struct {
	UID   uid.UID // of a page
	Name  string  // of the claimant of a grant
	Stamp triple.Stamp
	// Late is set if the claim came from a journal or from another order than SPO. Then a claim
	// with a lower stamp may be missing.
	Late bool
}

// None reports whether there is no claim.
func (c *Claim) None() bool { return c.UID == 0 && c.Name == "" }

// ClaimOf returns the claim in a row of the given kind, and false if the row has none.
func ClaimOf(kind byte, row *linkkeys.Row) (c Claim, ok bool) {
	if kind != rowreader.CopiedGrants {
		c.UID, ok = row.UID()
		return c, ok
	}
	object, err := triple.DecodeTerm(row.Terms[triple.Object])
	if err != nil || len(row.Terms[triple.Graph]) > 0 {
		return c, false
	}
	c.Name = object.Value()
	return c, c.Name != ""
}

// Fields codes a claim in the format of copies.
func (a *Claim) Fields(c *peer.Coder) {
	peer.Number(c, &a.UID, math.MaxUint64)
	c.Uvarint(&a.Stamp.Epoch, &a.Stamp.Sequence)
	c.String(&a.Name)
}

// CodeClaims codes the claims of one item of an answer.
func CodeClaims(c *peer.Coder, all *[]Claim) {
	peer.List(c, all, 5, func(a *Claim, c *peer.Coder) {
		a.Fields(c)
		c.Bool(&a.Late)
	})
}

// firstClaims returns the first claim of each item. A range must be all keys of SPO with two
// terms. If an item has no claim, its result is empty. is reports whether a row belongs to an
// item. A result never changes later; see the package comment.
func (g *Assigner) firstClaims(ctx context.Context, r *rowreader.Reader, kind byte, all []linkkeys.Wanted, items int, is func(item int, row *linkkeys.Row) bool) ([]Claim, error) {
	ordered := map[int]uint64{} // by item: the epoch in which the sequencers were awaited
	for {
		// 1. Read all claims. Committed must be loaded before the read, because it bounds what
		// the read has missed.
		before := g.Committed.Load()
		first := make([]Claim, items)
		newest := uint64(0)
		add := func(item int, c Claim) {
			newest = max(newest, c.Stamp.Epoch)
			// If a copy and its owner have the same claim, the one that is not late is kept.
			if was := &first[item]; was.None() || c.Stamp.Less(was.Stamp) || c.Stamp == was.Stamp && !c.Late {
				*was = c
			}
		}
		err := r.LookUpOrCopied(ctx, kind, all, func(item int, row *linkkeys.Row) error {
			c, ok := ClaimOf(kind, row)
			if !ok || !is(item, row) {
				return nil
			}
			var err error
			c.Stamp, err = row.Stamp()
			c.Late = r.FromOtherOrders()
			add(item, c)
			return err
		}, func(item int, d *peer.Decoder) error {
			var claims []Claim
			CodeClaims(d.Coder(), &claims)
			for _, c := range claims {
				add(item, c)
			}
			return d.Err()
		})
		if err != nil {
			return nil, err
		}
		// 2. Read again if a claim with a lower stamp may still turn up.
		if settled, err := g.allCommitted(ctx, newest, before); err != nil {
			return nil, err
		} else if !settled {
			continue // an earlier claim may have turned up
		}
		// 3. Late claims of the current epoch are in doubt until their sequencers have
		// committed.
		var doubtful []linkkeys.Wanted
		for _, w := range all {
			if c := &first[w.Item]; c.Late && c.Stamp.Epoch >= before && ordered[w.Item] != before {
				doubtful = append(doubtful, w)
			}
		}
		if len(doubtful) == 0 {
			return first, nil
		}
		if err := g.awaitSequencers(ctx, before, doubtful); err != nil {
			if !r.WaitRetry(ctx) {
				return nil, fmt.Errorf("%w: it is not known what came first: %w", store.ErrUnavailable, err)
			}
			continue
		}
		for _, w := range doubtful {
			ordered[w.Item] = before
		}
	}
}

// awaitSequencers waits until the sequencers of ranges of SPO have committed what they stamped
// in the adopted epoch before the read.
func (g *Assigner) awaitSequencers(ctx context.Context, epoch uint64, all []linkkeys.Wanted) error {
	v := g.Store.View()
	if v == nil || v.Epoch != epoch {
		return fmt.Errorf("another view than that of epoch %d is adopted", epoch)
	}
	machines := sequencers(v.Joint(), all)
	return ownership.Parallel(ctx, len(machines), len(machines), func(ctx context.Context, i int) error {
		if g.IsDown(machines[i]) {
			return ownership.ErrDown
		}
		ctx, cancel := context.WithTimeout(ctx, rowreader.CopyTimeout)
		defer cancel()
		_, err := g.Store.JournalEnd(ctx, epoch, machines[i])
		return err
	})
}

// sequencers returns the machines that stamp the operations in ranges of SPO under a view.
func sequencers(joint *recovery.Joint, all []linkkeys.Wanted) (machines []trie.MachineID) {
	seen := map[trie.MachineID]bool{}
	add := func(m trie.MachineID) {
		if !seen[m] {
			seen[m] = true
			machines = append(machines, m)
		}
	}
	for _, w := range all {
		for part := range joint.Base.Trie.Range(w.Lo, w.Hi) {
			if m := joint.Base.Placement.Owner(part); joint.Phase != recovery.Serve && joint.BaseLive.Contains(m) {
				add(m)
				continue
			}
			keys := w.Intersect(triple.Range{Lo: part.Lo, Hi: part.Hi})
			for part := range joint.Target.Trie.Range(keys.Lo, keys.Hi) {
				add(joint.Target.Placement.Owner(part))
			}
		}
	}
	return machines
}

// allCommitted reports whether no claim with a lower stamp can turn up. newest is the newest
// epoch that was read. before is the epoch before which everything was committed when the read
// began. If a lower stamp is possible, it waits until everything is committed; then the caller
// must read again.
func (g *Assigner) allCommitted(ctx context.Context, newest, before uint64) (bool, error) {
	now := uint64(0)
	if v := g.Store.View(); v != nil {
		now = v.Epoch
	}
	// Either all epochs that were read are committed, or the newest one is the current one, in
	// which stamps ascend.
	if newest < before || newest <= before && before >= now {
		return true, nil
	}
	return false, g.AwaitCommitted(ctx, max(newest, now))
}

// AwaitCommitted waits until everything from before an epoch is committed.
func (g *Assigner) AwaitCommitted(ctx context.Context, epoch uint64) error {
	settled, err := g.Store.Settled(ctx, epoch)
	if err != nil {
		return err
	}
	for {
		before := g.Committed.Load()
		if before >= settled || g.Committed.CompareAndSwap(before, settled) {
			return nil
		}
	}
}
