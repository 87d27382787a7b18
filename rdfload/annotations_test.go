// Annotations in run files.

package rdfload

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// TestShortAnnotation: an annotation that is too short for its place is an error of the
// writer of tables, because the run file is damaged.
func TestShortAnnotation(t *testing.T) {
	whole := append(triple.AppendAnnotation(nil, triple.Stamp{Sequence: 1}, []byte("x")), make([]byte, placeBytes)...)
	for n := 1; n <= placeBytes; n++ {
		merge := lastAnnotation{each: func(_, value []byte) error {
			_, err := withoutPlace(value) // as the tables' writer does
			return err
		}}
		if err := errors.Join(merge.row([]byte("k"), whole[:n]), merge.flush()); !errors.Is(err, errRunFile) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	merge := lastAnnotation{each: func(_, value []byte) error { return nil }}
	if err := errors.Join(merge.row([]byte("k"), whole), merge.flush()); err != nil {
		t.Error(err)
	}
}
