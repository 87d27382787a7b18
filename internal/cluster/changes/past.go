// Reading what is left of a past epoch.

package changes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// passEpoch passes the rest of the position's epoch, which is before that of v, and enters the next epoch
// with changes. The position moves only behind changes that were passed, so it may be called again.
func (rd *reader) passEpoch(ctx context.Context, v *view.View) error {
	// 1. All operations of the epoch must be committed, and none may be missing.
	if rd.pos.Epoch < v.Feed.Horizon {
		return rd.gone(ctx, "%s", v.Feed.Reason)
	}
	//
	// Request the states twice. They are final only if they were read when all members were
	// reconciled. Before that an operation may move from one that has not answered to one that has.
	var states []*state
	for range 2 {
		var err error
		states, err = requestAll(ctx, v, func(ctx context.Context, m trie.MachineID) (*state, error) {
			return rd.stateOf(ctx, v, m, rd.pos.Epoch)
		})
		if err != nil {
			return transient{err}
		}
		for i, s := range states {
			if !s.reconciled {
				return transient{fmt.Errorf("machine %s completes operations of earlier epochs", v.Members[i].ID)}
			}
		}
	}
	if reason := rd.trimmed(v, states); reason != "" {
		return rd.gone(ctx, "%s", reason)
	}
	// 2. Pass the operations of one stamper after the other.
	for _, m := range sequencersOf(states) {
		if err := rd.passStamper(ctx, v, m); err != nil {
			return err
		}
	}
	// 3. The target is reached if it is of this epoch, also if its last stamps left nothing in the logs.
	if rd.target != nil && rd.pos.Epoch == rd.target.Epoch {
		for _, mark := range rd.target.Marks {
			rd.advance(mark.Sequencer, triple.Stamp{Epoch: rd.pos.Epoch, Sequence: mark.Sequence})
		}
		return rd.end(ctx)
	}
	return rd.enter(v, states)
}

// trimmed returns why the logs may lack operations behind the position; "" if they have all.
func (rd *reader) trimmed(v *view.View, states []*state) string {
	for i, s := range states {
		of := v.Members[i].ID
		if s.trimmed >= rd.pos.Epoch {
			return fmt.Sprintf("machine %s no longer keeps changes of epoch %d", of, rd.pos.Epoch)
		}
		for _, t := range s.trims {
			// Of a member with its log only that log is needed.
			needed := t.machine == of || !v.HasLog(t.machine, rd.pos.Epoch)
			if at := (triple.Stamp{Epoch: rd.pos.Epoch, Sequence: rd.pos.Sequence(t.machine)}); needed && at.Less(t.stamp) {
				return fmt.Sprintf("machine %s keeps no changes of machine %s up to %d in epoch %d", of, t.machine, t.stamp.Sequence, t.stamp.Epoch)
			}
		}
	}
	return ""
}

// sequencersOf returns all sequencers in states, ascending.
func sequencersOf(states []*state) (all []trie.MachineID) {
	for _, s := range states {
		all = append(all, s.sequencers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// enter moves the position to the next epoch with changes, or to the epoch of v.
func (rd *reader) enter(v *view.View, states []*state) error {
	next := v.Epoch
	for _, s := range states {
		if s.next != 0 {
			next = min(next, s.next)
		}
	}
	for i := range v.Loads {
		if l := &v.Loads[i]; l.Epoch > rd.pos.Epoch {
			next = min(next, l.Epoch)
		}
	}
	// A load that is not published yet must not be passed.
	before := rd.pos
	if rd.pos = before.Begin(next); rd.waitsForLoad(v) {
		rd.pos = before
		return transient{fmt.Errorf("the bulk load of epoch %d is being published", next)}
	}
	return rd.loads(v)
}

// waitsForLoad reports whether a load of the position's epoch is not published.
func (rd *reader) waitsForLoad(v *view.View) bool {
	l := v.Ingesting()
	return l != nil && l.Epoch == rd.pos.Epoch
}

// passStamper passes the operations that a machine has stamped in the position's epoch.
func (rd *reader) passStamper(ctx context.Context, v *view.View, m trie.MachineID) error {
	hasLog := v.HasLog(m, rd.pos.Epoch)
	for {
		// 1. Query all members for their next operations.
		r := readRequest{view: v.Epoch, stamper: m, epoch: rd.pos.Epoch, after: rd.pos.Sequence(m), late: true, maxBytes: maxPart}
		parts, err := requestAll(ctx, v, func(ctx context.Context, of trie.MachineID) (*part, error) {
			r := r
			r.batches = of == m || !hasLog
			return rd.readOf(ctx, of, r)
		})
		if err != nil {
			return transient{err}
		}
		// 2. All have answered up to the least end.
		until := uint64(math.MaxUint64)
		for i, p := range parts {
			if p.trimmed {
				return rd.gone(ctx, "machine %s no longer keeps changes of machine %s in epoch %d", v.Members[i].ID, m, rd.pos.Epoch)
			}
			until = min(until, p.until)
		}
		if err := rd.passOperations(m, merge(parts, until)); err != nil {
			return err
		}
		if until == math.MaxUint64 {
			return nil
		}
		if until <= r.after {
			return fmt.Errorf("the log of machine %s does not get behind sequence %d of epoch %d", m, until, rd.pos.Epoch)
		}
		rd.advance(m, triple.Stamp{Epoch: rd.pos.Epoch, Sequence: until})
		if rd.out.due() {
			if err := rd.flush(true); err != nil {
				return err
			}
		}
	}
}

// merge returns the operations of several machines up to a sequence, in order, each once.
func merge(parts []*part, until uint64) (all []replica.Logged) {
	for _, p := range parts {
		for _, o := range p.operations {
			if o.Stamp.Sequence <= until {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b replica.Logged) int {
		return cmp.Or(cmp.Compare(a.Stamp.Sequence, b.Stamp.Sequence), bytes.Compare(a.Key, b.Key))
	})
	return slices.CompactFunc(all, func(a, b replica.Logged) bool {
		return a.Stamp == b.Stamp && bytes.Equal(a.Key, b.Key)
	})
}
