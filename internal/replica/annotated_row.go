// Reading a row with its annotations.

package replica

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// AnnotatedRow is a row, in one order, and its annotations.
type AnnotatedRow struct {
	Live        bool
	Stamp       triple.Stamp       // of the row, for comparison; zero if it is not live
	Annotations []store.Annotation // by application ID
	More        bool               // more annotations follow the last one
}

// AnnotatedRow returns the row with a key, of any order, in a table. It also returns annotations with
// application IDs greater than after, of about most bytes. If any follows after, at least one is
// returned. The caller owns the result.
func (sn *Snapshot) AnnotatedRow(ctx context.Context, table byte, key []byte, after string, most int) (n AnnotatedRow, err error) {
	err = sn.readAnnotated(ctx, table, key, &n, func(id []byte, a *triple.Annotation) bool {
		if string(id) == after {
			return true
		}
		if n.More = most <= 0 && len(n.Annotations) > 0; n.More {
			return false
		}
		most -= len(id) + len(a.Data)
		n.Annotations = append(n.Annotations, store.Annotation{ApplicationID: string(id), Data: append([]byte{}, a.Data...), Version: a.Stamp})
		return true
	}, after)
	return n, fault.Wrap("look up annotations", err)
}

// RowWithAnnotation is [Snapshot.AnnotatedRow] for the annotation of one application.
func (sn *Snapshot) RowWithAnnotation(ctx context.Context, table byte, key []byte, applicationID string) (n AnnotatedRow, err error) {
	err = sn.readAnnotated(ctx, table, key, &n, func(id []byte, a *triple.Annotation) bool {
		if string(id) == applicationID {
			n.Annotations = []store.Annotation{{ApplicationID: applicationID, Data: append([]byte{}, a.Data...), Version: a.Stamp}}
		}
		return false
	}, applicationID)
	return n, fault.Wrap("look up annotation", err)
}

// readAnnotated reads the row, then calls each for its annotations from an application ID on, until each
// returns false.
func (sn *Snapshot) readAnnotated(ctx context.Context, table byte, key []byte, n *AnnotatedRow, each func(id []byte, a *triple.Annotation) bool, from string) error {
	if err := sn.Begin(ctx); err != nil {
		return err
	}
	defer sn.End()
	// 1. Read the row. If it is missing or deleted, its annotations do not count.
	version := append([]byte{table}, key...)
	value, err := sn.Value(version)
	if err != nil || value == nil || triple.IsTombstone(value) {
		return err
	}
	if triple.IsAnnotation(value) {
		return fmt.Errorf("%w: the key of an annotation", store.ErrInvalid)
	}
	if n.Stamp, err = sn.store.loadEpochs.stampOf(value); err != nil {
		return err
	}
	n.Live = true
	// 2. Read its annotations, which stand beside it in the table.
	lower, upper := triple.AnnotationBounds(version)
	it, err := sn.NewIter(lower, upper)
	if err != nil {
		return err
	}
	defer it.Close()
	for valid := it.SeekGE(append(bytes.Clone(lower), from...)); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		a, err := sn.store.loadEpochs.annotationOf(value)
		if err != nil {
			return err
		}
		// A removed annotation is a tombstone, so each must not see it.
		if !a.Removed && !each(it.Key()[len(lower):], &a) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return it.Error()
}
