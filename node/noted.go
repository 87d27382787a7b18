package node

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Noted is a version, in one order, and what is noted on it.
type Noted struct {
	Live        bool
	Stamp       triple.Stamp // of the version, as it is compared; zero where it is not live
	Annotations []Annotation // by application id
	More        bool         // there are more behind the last one
}

// Noted returns the version in a table with a key, of any order, and the annotations beside it
// whose application ids are greater than after, as many as have about so many bytes,
// one at least. The caller owns the result.
func (sn *Snapshot) Noted(ctx context.Context, table byte, key []byte, after string, most int) (n Noted, err error) {
	err = sn.noted(ctx, table, key, &n, func(row annotationRow, a *triple.Annotation) bool {
		if string(row.id) == after {
			return true
		}
		if n.More = most <= 0 && len(n.Annotations) > 0; n.More {
			return false
		}
		most -= len(row.id) + len(a.Data)
		n.Annotations = append(n.Annotations, Annotation{ApplicationID: string(row.id), Data: append([]byte{}, a.Data...)})
		return true
	}, after)
	return n, wrap("look up annotations", err)
}

// NotedOne is [Snapshot.Noted] for the annotation of one application.
func (sn *Snapshot) NotedOne(ctx context.Context, table byte, key []byte, applicationID string) (n Noted, err error) {
	err = sn.noted(ctx, table, key, &n, func(row annotationRow, a *triple.Annotation) bool {
		if string(row.id) == applicationID {
			n.Annotations = []Annotation{{ApplicationID: applicationID, Data: append([]byte{}, a.Data...)}}
		}
		return false
	}, applicationID)
	return n, wrap("look up annotation", err)
}

// noted reads the version and calls each for the annotations beside it from an
// application id on, until that is false.
func (sn *Snapshot) noted(ctx context.Context, table byte, key []byte, n *Noted, each func(annotationRow, *triple.Annotation) bool, from string) error {
	if err := sn.begin(ctx); err != nil {
		return err
	}
	defer sn.store.uses.end()
	version := append([]byte{table}, key...)
	value, err := sn.get(version)
	if err != nil || value == nil || triple.IsTombstone(value) {
		return err
	}
	if triple.IsAnnotation(value) {
		return fmt.Errorf("%w: the key of an annotation", ErrInvalid)
	}
	if n.Stamp, err = sn.store.stampOf(value); err != nil {
		return err
	}
	n.Live = true
	lower, upper := triple.AnnotationBounds(version)
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	for valid := it.SeekGE(append(bytes.Clone(lower), from...)); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		a, err := triple.DecodeAnnotation(value)
		if err != nil {
			return err
		}
		if !a.Removed && !each(annotationRow{it.Key()[len(lower):], value}, &a) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return it.Error()
}
