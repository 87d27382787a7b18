package writes

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

// Find looks up a triple, by its key in SPO: whether it is there, and the stamp of
// its version. What it finds is settled.
type Find func(ctx context.Context, key []byte) (stamp triple.Stamp, live bool, err error)

// Annotate sets or removes what an application notes on a triple, as
// [node.Store.Annotate] does: beside all versions and replicas of it, durably when
// it returns nil. Errors are those of [Writes.Write], and [node.ErrNotFound] where the
// triple is not there. find is asked where the sequencer cannot tell that: its slot is
// being rebuilt, or what it has of the triple is not settled. The note's On is not
// read.
func (w *Writes) Annotate(ctx context.Context, t triple.Triple, note node.Note, find Find) error {
	err := t.Check()
	if err == nil {
		err = note.Check()
	}
	if err != nil {
		return err
	}
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	note.On = triple.Stamp{}
	tries := newPatience(w)
	for {
		a, err := w.annotateOnce(ctx, key, note)
		switch {
		case err != nil && !peer.IsDefinite(err):
			return fmt.Errorf("%w: %w", node.ErrUnknown, err)
		case err != nil:
		case a.outcome == done:
			w.stats.coordinated.Add(1)
			return nil
		case a.outcome == diskFull:
			return errFull(w.cluster.View(), a.full)
		case a.outcome == missing:
			return node.ErrNotFound
		default:
			stamp, live, err := find(ctx, key)
			switch {
			case err != nil:
				return err
			case !live:
				return node.ErrNotFound
			case stamp != note.On:
				note.On = stamp
				continue
			}
		}
		if err == nil {
			err = refuse(peer.CodeUnavailable, 0, "what the triple's sequencer has of it is not settled")
		}
		if err := tries.again(ctx, err); err != nil {
			return err
		}
	}
}

func (w *Writes) annotateOnce(ctx context.Context, key []byte, note node.Note) (answer, error) {
	v := w.cluster.View()
	chunks, err := regroup(v, &chunk{operations: []node.Operation{{Kind: node.OperationAnnotate, Key: key, Note: &note}}})
	if err != nil {
		return answer{}, err
	}
	return w.submitTo(ctx, v, chunks[0], 0)
}

// found reports whether the triple of an annotation is there, so that it may be
// stamped, and notes in it the stamp of the version that it is on. Otherwise it
// notes in the request why not.
//
// Whoever finds the version may not have heard of a delete that another sequencer
// has stamped and nobody has acknowledged. Its stamp may be less than the
// annotation's; but it is greater than the version's, and so takes both away,
// wherever they meet.
func (r *request) found(o *node.Operation, f *finding) bool {
	note := *o.Note
	switch {
	case f.certain:
		if f.rests != nil {
			r.await(f.rests)
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
