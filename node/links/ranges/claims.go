// Who was first: of several UIDs of a page, and of several claims of a grant, one counts.

package ranges

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// claim is one of several objects of a subject and a predicate; the one that was written
// first counts.
type claim struct {
	uid   uid.UID // of a page
	name  string  // of who claims a grant
	stamp triple.Stamp
	// late is that it came from a journal or from another order than SPO: what was stamped
	// before it may not be there yet.
	late bool
}

func (c *claim) none() bool { return c.uid == 0 && c.name == "" }

// claimOf returns the claim that a row of a kind of claims is; false where it is none.
func claimOf(kind byte, row *row) (c claim, ok bool) {
	if kind != copiedGrants {
		c.uid, ok = row.uid()
		return c, ok
	}
	object, err := triple.DecodeTerm(row.terms[triple.Object])
	if err != nil || len(row.terms[triple.Graph]) > 0 {
		return c, false
	}
	c.name = object.Value()
	return c, c.name != ""
}

// encode appends a claim as copies have it.
func (c *claim) encode(e *peer.Encoder) {
	e.Uvarint(uint64(c.uid))
	e.Uvarint(c.stamp.Epoch)
	e.Uvarint(c.stamp.Sequence)
	e.String(c.name)
}

func readClaim(d *peer.Decoder) claim {
	c := claim{uid: uid.UID(d.Uvarint()), stamp: triple.Stamp{Epoch: d.Uvarint(), Sequence: d.Uvarint()}}
	c.name = d.String()
	return c
}

// readClaims reads the claims of one item of an answer.
func readClaims(d *peer.Decoder) ([]claim, error) {
	all := make([]claim, d.Count(5))
	for i := range all {
		all[i] = readClaim(d)
		all[i].late = d.Bool()
	}
	return all, d.Err()
}

// firsts returns the first claims of some items, whose ranges are all keys of SPO with two
// terms; none where there is none. is reports whether a row is of an item. What it returns is
// first for good; see the package comment.
func (r *reader) firsts(ctx context.Context, kind byte, all []wanted, items int, is func(item int, row *row) bool) ([]claim, error) {
	g := r.graph
	ordered := map[int]uint64{} // by item: in which epoch it was waited for what came before
	for {
		before := g.settled.Load()
		first := make([]claim, items)
		newest := uint64(0)
		add := func(item int, c claim) {
			newest = max(newest, c.stamp.Epoch)
			if was := &first[item]; was.none() || c.stamp.Less(was.stamp) || c.stamp == was.stamp && !c.late {
				*was = c
			}
		}
		err := r.lookEither(ctx, kind, all, func(item int, row *row) error {
			c, ok := claimOf(kind, row)
			if !ok || !is(item, row) {
				return nil
			}
			var err error
			c.stamp, err = row.stamp()
			c.late = r.fromOtherOrders()
			add(item, c)
			return err
		}, func(item int, d *peer.Decoder) error {
			claims, err := readClaims(d)
			if err != nil {
				return err
			}
			for _, c := range claims {
				add(item, c)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if settled, err := g.settledFor(ctx, newest, before); err != nil {
			return nil, err
		} else if !settled {
			continue // an earlier claim may have turned up
		}
		var doubtful []wanted
		for _, w := range all {
			if c := &first[w.item]; c.late && c.stamp.Epoch >= before && ordered[w.item] != before {
				doubtful = append(doubtful, w)
			}
		}
		if len(doubtful) == 0 {
			return first, nil
		}
		if err := g.inTurn(ctx, before, doubtful); err != nil {
			if !r.again(ctx) {
				return nil, fmt.Errorf("%w: it is not known what came first: %w", node.ErrUnavailable, err)
			}
			continue
		}
		for _, w := range doubtful {
			ordered[w.item] = before
		}
	}
}

// inTurn waits until all is settled that was stamped in an epoch, which is the adopted one,
// for ranges of SPO before what was read of them.
func (g *Graph) inTurn(ctx context.Context, epoch uint64, all []wanted) error {
	v := g.store.View()
	if v == nil || v.Epoch != epoch {
		return fmt.Errorf("another view than that of epoch %d is adopted", epoch)
	}
	machines := sequencers(v.Joint(), all)
	return atOnce(ctx, len(machines), len(machines), func(ctx context.Context, i int) error {
		if g.isAway(machines[i]) {
			return errAway
		}
		ctx, cancel := context.WithTimeout(ctx, copiedTime)
		defer cancel()
		_, err := g.store.JournalEnd(ctx, epoch, machines[i])
		return err
	})
}

// sequencers returns the machines that stamp the operations in ranges of SPO under a view.
func sequencers(joint *recovery.Joint, all []wanted) (machines []trie.MachineID) {
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
