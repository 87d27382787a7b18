// Annotations: operations on an existing triple, and conditions that the sequencer checks before it stamps.

package writes

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Find looks up a triple by its key in SPO, and the annotation of an application.
type Find func(ctx context.Context, key []byte, applicationID string) (Found, error)

// Found is a committed row and an annotation of it.
type Found struct {
	Live    bool         // the triple exists
	Stamp   triple.Stamp // of its row
	Version triple.Stamp // of the annotation; zero if there is none
}

// Annotate sets or removes the annotation of an application on a triple, like
// [store.AnnotateIf]. When it returns nil, all places of the triple have it durably. Errors
// are those of [Writes.Write], [store.ErrNotFound] if the triple does not exist, and a
// [*store.ConflictError] if the condition does not hold. It calls find if the sequencer is not
// certain, because its place is being rebuilt or its row is in flight. It ignores note.On and
// note.If.
func (co *coordinator) Annotate(ctx context.Context, t triple.Triple, annotation replica.Annotation, when store.Condition, find Find) (version triple.Stamp, err error) {
	err = t.Check()
	if annotation.If = nil; !when.IsZero() {
		annotation.If = &replica.AnnotationCondition{Condition: when}
	}
	if err == nil {
		err = annotation.Check()
	}
	if err != nil {
		return version, err
	}
	key, hasLong := triple.AppendKey(nil, triple.SPO, t)
	var long []byte
	if hasLong {
		long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	annotation.On = triple.Stamp{}
	request := store.RequestKeyOf(ctx)
	first := uint64(0)
	if v := co.member.View(); v != nil && request != nil && request.First {
		first = v.Epoch
	}
	token := request.Token(store.OperationAnnotate, triple.AppendAnnotationKey(nil, key, annotation.ApplicationID))
	tries := newRetries(co.common)
	for {
		// 1. Submit. If the sequencer was unsure, the note has what find returned.
		a, err := co.annotateOnce(ctx, replica.Operation{Kind: store.OperationAnnotate, Key: key, Long: long, Annotation: &annotation, Token: token}, first)
		switch {
		case err != nil && !peer.IsDefinite(err):
			return version, fmt.Errorf("%w: %w", store.ErrUnknown, err)
		case err != nil:
		case a.outcome == done:
			co.stats.coordinated.Add(1)
			return a.version, nil
		case a.outcome == diskFull:
			return version, errFull(co.member.View(), a.full)
		case a.outcome == missing:
			return version, store.ErrNotFound
		case a.outcome == conflict:
			return version, &store.ConflictError{Current: a.version}
		default:
			// The sequencer is unsure. If find returns something new, submit again with it.
			found, err := find(ctx, key, annotation.ApplicationID)
			switch {
			case err != nil:
				return version, err
			case !found.Live:
				return version, store.ErrNotFound
			case takeFound(&annotation, found, a.epoch):
				continue
			}
		}
		// 2. Refused, or the same row is still in flight at the sequencer: retry later.
		if err == nil {
			err = peer.Refuse(peer.CodeUnavailable, 0, "what the triple's sequencer has of it is not settled")
		}
		if err := tries.wait(ctx, err); err != nil {
			return version, err
		}
	}
}

// takeFound puts what was looked up into a note. epoch is the sequencer's when it was unsure. It
// returns false if the note had it already.
func takeFound(annotation *replica.Annotation, found Found, epoch uint64) bool {
	before := annotation.On
	annotation.On = found.Stamp
	if annotation.If == nil {
		return before != annotation.On
	}
	when := *annotation.If
	when.FoundIn, when.Found = epoch, found.Version
	changed := before != annotation.On || when != *annotation.If
	annotation.If = &when
	return changed
}

// annotateOnce submits an annotation once, to the sequencer of its triple.
func (co *coordinator) annotateOnce(ctx context.Context, o replica.Operation, first uint64) (answer, error) {
	v := co.member.View()
	chunks, err := regroup(v, &chunk{operations: []replica.Operation{o}})
	if err != nil {
		return answer{}, err
	}
	return co.submitTo(ctx, v, chunks[0], first, 0)
}

// found reports whether the triple of an annotation exists, because only then the annotation may
// be stamped. If so, it puts the stamp of the annotated row into o. Otherwise it records the
// reason in the request.
//
// This machine may lack a delete in flight from another sequencer. Its stamp may be less than the
// annotation's. Because it is greater than the row's, it deletes both on each machine.
func (r *request) found(v *view.View, o *replica.Operation, f *finding) bool {
	annotation := *o.Annotation
	switch {
	case f.certain:
		if f.pending != nil {
			r.await(f.pending)
		}
		if !f.live {
			r.refused = missing
			return false
		}
		annotation.On = f.stamp
	case annotation.On == (triple.Stamp{}) || annotation.On.Less(f.stamp):
		r.refused = unsure
		return false
	}
	if annotation.If != nil && !r.allowed(v, annotation.If, f) {
		return false
	}
	annotation.If = nil
	o.Annotation = &annotation
	return true
}

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
	return len(operations) == 1 && operations[0].Annotation != nil && operations[0].Annotation.If != nil
}

// settle submits operations until their outcome does not depend on operations in flight. See
// submit.
func (sq *sequencer) settle(ctx context.Context, s submission) (answer, error) {
	for {
		a, err := sq.submit(ctx, s)
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
	if err := sq.requestMembers(ctx, others, methodReconciled, v.Epoch, "operations of earlier epochs are not known to be settled"); err != nil {
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
		if r.held.stamp, r.held.live, err = sq.store.AnnotationVersion(o.Key, o.Annotation.ApplicationID); err != nil {
			return err
		}
	}
	return nil
}

// allowed reports whether the condition of an annotation holds, or records the reason in the
// request if not. The triple exists.
func (r *request) allowed(v *view.View, c *replica.AnnotationCondition, f *finding) bool {
	// 1. An operation in flight may change the version.
	if f.pending != nil || f.annotated != nil {
		for _, b := range []*batch{f.pending, f.annotated} {
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
	var when replica.AnnotationCondition
	var annotation *replica.Annotation
	if len(m.operations) == 1 {
		annotation = m.operations[0].Annotation
	}
	if annotation == nil {
		c.Fail("not one annotation")
		return
	}
	if annotation.If != nil {
		when = *annotation.If
	}
	c.Bool(&when.Absent)
	c.Uvarint(&when.Version.Epoch, &when.Version.Sequence, &when.FoundIn, &when.Found.Epoch, &when.Found.Sequence)
	if c.Reading() && !when.IsZero() {
		c.Check(when.Check())
		annotation.If = &when
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
	a, err := sq.settle(ctx, submission{operations: m.operations, first: m.number})
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.versionFields), nil
}
