// Annotations: operations on an existing triple.

package writes

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
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
func (co *coordinator) Annotate(ctx context.Context, t triple.Triple, note replica.Note, when store.Condition, find Find) (version triple.Stamp, err error) {
	err = t.Check()
	if note.If = nil; !when.IsZero() {
		note.If = &replica.NoteCondition{Condition: when}
	}
	if err == nil {
		err = note.Check()
	}
	if err != nil {
		return version, err
	}
	key, hasLong := triple.AppendKey(nil, triple.SPO, t)
	var long []byte
	if hasLong {
		long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	note.On = triple.Stamp{}
	request := store.RequestKeyOf(ctx)
	first := uint64(0)
	if v := co.member.View(); v != nil && request != nil && request.First {
		first = v.Epoch
	}
	token := request.Token(store.OperationAnnotate, triple.AppendAnnotationKey(nil, key, note.ApplicationID))
	tries := newRetries(co.common)
	for {
		// 1. Submit. If the sequencer was unsure, the note has what find returned.
		a, err := co.annotateOnce(ctx, replica.Operation{Kind: store.OperationAnnotate, Key: key, Long: long, Note: &note, Token: token}, first)
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
			found, err := find(ctx, key, note.ApplicationID)
			switch {
			case err != nil:
				return version, err
			case !found.Live:
				return version, store.ErrNotFound
			case takeFound(&note, found, a.epoch):
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
func takeFound(note *replica.Note, found Found, epoch uint64) bool {
	before := note.On
	note.On = found.Stamp
	if note.If == nil {
		return before != note.On
	}
	when := *note.If
	when.FoundIn, when.Found = epoch, found.Version
	changed := before != note.On || when != *note.If
	note.If = &when
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
	if note.If != nil && !r.allowed(v, note.If, f) {
		return false
	}
	note.If = nil
	o.Note = &note
	return true
}
