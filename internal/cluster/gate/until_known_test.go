// Tests of writes whose result must be known.

package gate

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// A begun write must end before it is answered, also if the second try is refused and nobody
// waits for it.
func TestUntilKnown(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []error
		drains  int
	}{
		{"done", []error{nil}, 0},
		{"refused", []error{store.ErrBusy}, 0},
		{"full", []error{store.ErrDiskFull}, 0},
		{"stalled, then done", []error{store.ErrUnknown, store.ErrUnknown, nil}, 2},
		{"stalled, then no place in the queue", []error{store.ErrUnknown, store.ErrBusy}, 1},
		{"stalled, then full", []error{store.ErrUnknown, store.ErrDiskFull}, 1},
		{"stalled, then failed", []error{store.ErrUnknown, store.ErrFailed}, 1},
		{"stalled, and closed", []error{store.ErrUnknown}, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		asked, drained := 0, 0
		err := UntilKnown(ctx, t.Context(), func(ctx context.Context) error {
			cancel()
			if ctx.Err() != nil {
				t.Errorf("%s: try %d is interrupted", c.name, asked)
			}
			asked++
			return c.answers[asked-1]
		}, func(ctx context.Context) error {
			drained++
			if ctx.Err() != nil {
				t.Errorf("%s: the end is not waited for", c.name)
			}
			if drained == len(c.answers) {
				return store.ErrClosed
			}
			return nil
		})
		if asked != len(c.answers) || drained != c.drains || !errors.Is(err, c.answers[asked-1]) {
			t.Errorf("%s: %d tries, %d drains, %v", c.name, asked, drained, err)
		}
	}
}
