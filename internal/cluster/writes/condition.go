// Annotations with a condition: the sequencer compares versions before it stamps.

package writes

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A condition compares the current version of an annotation. The sequencer of the triple must
// therefore know every operation on the triple that may become visible:
//
//   - Operations of earlier epochs, stamped by any machine. All members must report that none is in
//     flight (reconcile). None can appear later in this epoch, so one answer of all suffices for it.
//   - Its own operations of this epoch. If one is in flight, the annotation waits until it is
//     committed, and is then compared anew (overtaken).
//
// Then the rows decide: those of this machine if its SPO place is full, otherwise those that the
// coordinator looks up. That look-up begins after the members' reports, in the same epoch. A
// version that this machine has stamped in this epoch is newer than any that was looked up.

// heldAnnotation is this machine's row of an annotation.
type heldAnnotation struct {
	stamp triple.Stamp // zero if there is no row
	live  bool         // the row is no removal
}

// haveConditions reports whether an operation is an annotation with a condition.
func haveConditions(operations []replica.Operation) bool {
	return len(operations) == 1 && operations[0].Note != nil && operations[0].Note.If != nil
}

// settle submits operations until their outcome does not depend on operations in flight. See
// submit.
func (sq *sequencer) settle(ctx context.Context, operations []replica.Operation, first, fence uint64) (answer, error) {
	for {
		a, err := sq.submit(ctx, operations, first, fence)
		if err != nil || a.outcome != overtaken {
			return a, err
		}
	}
}

// reconcile returns nil if no operation of an epoch before that of v can appear any more. Otherwise
// it returns a refusal, because a retry helps when the members have settled them or a silent one is
// excluded.
func (sq *sequencer) reconcile(ctx context.Context, v *view.View) error {
	if sq.clean.Load() >= v.Epoch {
		return nil
	}
	// 1. This machine, then all others at the same time.
	if err := sq.checkReconciled(v.Epoch); err != nil {
		return err
	}
	others := map[trie.MachineID]bool{}
	for i := range v.Members {
		others[v.Members[i].ID] = true
	}
	if err := sq.askMembers(ctx, others, methodReconciled, v.Epoch, "operations of earlier epochs are not known to be settled"); err != nil {
		return err
	}
	// 2. Remember it for the rest of the epoch.
	for {
		before := sq.clean.Load()
		if before >= v.Epoch || sq.clean.CompareAndSwap(before, v.Epoch) {
			return nil
		}
	}
}

// checkReconciled returns a refusal unless the adopted epoch is the given one, and no operation of
// an earlier one is in flight by this machine's records.
func (sq *sequencer) checkReconciled(epoch uint64) error {
	before, _ := sq.flight.current()
	ok := sq.flight.Reconciled()
	after, _ := sq.flight.current()
	switch {
	case after == nil || before != after || after.view.Epoch != epoch:
		return wrongEpoch(sq.member.View())
	case !ok:
		return peer.Refuse(peer.CodeUnavailable, epoch, "operations of earlier epochs are not settled on machine %s", sq.self.Machine)
	}
	return nil
}

// handleReconciled answers writes/reconciled.
func (sq *sequencer) handleReconciled(_ context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	if err := peer.Decode(body, func(c *peer.Coder) { c.Uvarint(&epoch) }); err != nil {
		return nil, malformed(err)
	}
	return nil, sq.checkReconciled(epoch)
}

// lookUpAnnotations reads this machine's rows of the annotations with a condition. It must be called
// after find: if an annotation is committed in between, its row is here.
func (sq *sequencer) lookUpAnnotations(group []*request) (err error) {
	for _, r := range group {
		if !haveConditions(r.operations) {
			continue
		}
		o := &r.operations[0]
		if r.held.stamp, r.held.live, err = sq.store.AnnotationVersion(o.Key, o.Note.ApplicationID); err != nil {
			return err
		}
	}
	return nil
}

// allowed reports whether the condition of an annotation holds, or records the reason in the
// request if not. The triple exists.
func (r *request) allowed(v *view.View, c *replica.NoteCondition, f *finding) bool {
	// 1. An operation in flight may change the version.
	if f.pending != nil || f.noted != nil {
		for _, b := range []*batch{f.pending, f.noted} {
			if b != nil {
				r.await(b)
			}
		}
		r.refused = overtaken
		return false
	}
	// 2. Find the version: by this machine's row, or by the look-up.
	var current triple.Stamp
	switch {
	case f.certain || r.held.stamp.Epoch == v.Epoch:
		if r.held.live {
			current = r.held.stamp
		}
	case c.FoundIn != v.Epoch:
		r.refused = unsure
		return false
	default:
		current = c.Found
	}
	// 3. Compare.
	if c.Met(current) != nil {
		r.refused, r.version = conflict, current
		return false
	}
	return true
}

// conditionFields codes writes/annotate: an annotation and its condition.
func (m *numbered) conditionFields(c *peer.Coder) {
	m.fields(c)
	var when replica.NoteCondition
	var note *replica.Note
	if len(m.operations) == 1 {
		note = m.operations[0].Note
	}
	if note == nil {
		c.Fail("not one annotation")
		return
	}
	if note.If != nil {
		when = *note.If
	}
	c.Bool(&when.Absent)
	c.Uvarint(&when.Version.Epoch, &when.Version.Sequence, &when.FoundIn, &when.Found.Epoch, &when.Found.Sequence)
	if c.Reading() && !when.IsZero() {
		c.Check(when.Check())
		note.If = &when
	}
}

// versionFields codes the answer of writes/annotate.
func (a *answer) versionFields(c *peer.Coder) {
	if peer.Byte(c, &a.outcome); a.outcome > conflict {
		c.Fail("outcome %d", a.outcome)
	}
	a.counts(c)
	c.Uvarint(&a.epoch, &a.version.Epoch, &a.version.Sequence)
}

// handleAnnotate answers writes/annotate.
func (sq *sequencer) handleAnnotate(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := sq.beginWait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: false}
	if err := peer.Decode(body, m.conditionFields); err != nil {
		return nil, malformed(err)
	}
	a, err := sq.settle(ctx, m.operations, m.number, 0)
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.versionFields), nil
}
