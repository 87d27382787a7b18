// Annotations: operations on an existing triple.

package writes

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Find looks up a triple by its key in SPO. It returns the stamp of its committed row, and whether
// the triple exists.
type Find func(ctx context.Context, key []byte) (stamp triple.Stamp, live bool, err error)

// Annotate sets or removes the annotation of an application on a triple, like
// [replica.Store.Annotate]. When it returns nil, all places of the triple have it durably. Errors
// are those of [Writes.Write], and [store.ErrNotFound] if the triple does not exist. It calls
// find if the sequencer is not certain, because its place is being rebuilt or its row is in
// flight. It ignores note.On.
func (co *coordinator) Annotate(ctx context.Context, t triple.Triple, note replica.Note, find Find) error {
	err := t.Check()
	if err == nil {
		err = note.Check()
	}
	if err != nil {
		return err
	}
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	note.On = triple.Stamp{}
	tries := newRetries(co.common)
	for {
		// 1. Submit. If the sequencer was unsure, note.On has the stamp from find.
		a, err := co.annotateOnce(ctx, key, note)
		switch {
		case err != nil && !peer.IsDefinite(err):
			return fmt.Errorf("%w: %w", store.ErrUnknown, err)
		case err != nil:
		case a.outcome == done:
			co.stats.coordinated.Add(1)
			return nil
		case a.outcome == diskFull:
			return errFull(co.member.View(), a.full)
		case a.outcome == missing:
			return store.ErrNotFound
		default:
			// The sequencer is unsure. If find returns another stamp than before, submit again
			// with it.
			stamp, live, err := find(ctx, key)
			switch {
			case err != nil:
				return err
			case !live:
				return store.ErrNotFound
			case stamp != note.On:
				note.On = stamp
				continue
			}
		}
		// 2. Refused, or the same row is still in flight at the sequencer: retry later.
		if err == nil {
			err = peer.Refuse(peer.CodeUnavailable, 0, "what the triple's sequencer has of it is not settled")
		}
		if err := tries.wait(ctx, err); err != nil {
			return err
		}
	}
}

// annotateOnce submits an annotation once, to the sequencer of its triple.
func (co *coordinator) annotateOnce(ctx context.Context, key []byte, note replica.Note) (answer, error) {
	v := co.member.View()
	chunks, err := regroup(v, &chunk{operations: []replica.Operation{{Kind: store.OperationAnnotate, Key: key, Note: &note}}})
	if err != nil {
		return answer{}, err
	}
	return co.submitTo(ctx, v, chunks[0], 0)
}

// found reports whether the triple of an annotation exists, because only then the annotation may
// be stamped. If so, it puts the stamp of the annotated row into o. Otherwise it records the
// reason in the request.
//
// This machine may lack a delete in flight from another sequencer. Its stamp may be less than the
// annotation's. Because it is greater than the row's, it deletes both on each machine.
func (r *request) found(o *replica.Operation, f *finding) bool {
	note := *o.Note
	switch {
	case f.certain:
		if f.pending != nil {
			r.await(f.pending)
		}
		if !f.live {
			r.refused = missing
			return false
		}
		note.On = f.stamp
	case note.On == (triple.Stamp{}) || note.On.Less(f.stamp):
		r.refused = unsure
		return false
	}
	o.Note = &note
	return true
}
