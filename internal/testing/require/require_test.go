// Tests which errors end a test.

package require

import (
	"io"
	"slices"
	"testing"
)

// recorder records calls.
type recorder struct{ calls []any }

func (r *recorder) Helper()           { r.calls = append(r.calls, "help") }
func (r *recorder) Fatal(args ...any) { r.calls = append(r.calls, args...) }

func TestNoError(t *testing.T) {
	var r recorder
	NoError(&r, nil)
	if r.calls != nil {
		t.Errorf("without an error: %v", r.calls)
	}
	NoError(&r, io.ErrUnexpectedEOF)
	if !slices.Equal(r.calls, []any{"help", io.ErrUnexpectedEOF}) {
		t.Errorf("with an error: %v", r.calls)
	}
}
