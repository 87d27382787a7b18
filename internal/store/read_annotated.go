// Reading rows together with their annotations.

package store

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// annotatedReader looks up the annotations of one row after the other.
type annotatedReader struct{ it *pebble.Iterator }

// newAnnotatedReader returns a reader for the rows of a snapshot. It must be closed.
func (sn *Snapshot) newAnnotatedReader() (*annotatedReader, error) {
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Storage}, UpperBound: []byte{keyspace.Storage + 1}})
	if err != nil {
		return nil, fault.Wrap("iterate", err)
	}
	return &annotatedReader{it}, nil
}

// of returns the annotations beside the row with a key. The caller owns them.
func (r *annotatedReader) of(ctx context.Context, key []byte) (all []Annotation, err error) {
	lower, upper := triple.AnnotationBounds(append([]byte{keyspace.Storage}, key...))
	for valid := r.it.SeekGE(lower); valid && bytes.Compare(r.it.Key(), upper) < 0; valid = r.it.Next() {
		value, err := r.it.ValueAndErr()
		if err != nil {
			return nil, fault.Wrap("read annotations", err)
		}
		a, err := triple.DecodeAnnotation(value)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fault.Wrap("read annotations", err)
		}
		if !a.Removed {
			all = append(all, Annotation{ApplicationID: string(r.it.Key()[len(lower):]), Data: append([]byte{}, a.Data...), Version: a.Stamp})
		}
	}
	return all, fault.Wrap("read annotations", r.it.Error())
}

func (r *annotatedReader) close() error { return r.it.Close() }
