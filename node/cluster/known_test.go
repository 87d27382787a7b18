package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/node"
)

// What was begun has ended before anything is said of it, also where the second try is
// refused, and nobody waits for it.
func TestUntilKnown(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []error
		drains  int
	}{
		{"done", []error{nil}, 0},
		{"refused", []error{node.ErrBusy}, 0},
		{"full", []error{node.ErrDiskFull}, 0},
		{"stalled, then done", []error{node.ErrUnknown, node.ErrUnknown, nil}, 2},
		{"stalled, then no place in the queue", []error{node.ErrUnknown, node.ErrBusy}, 1},
		{"stalled, then full", []error{node.ErrUnknown, node.ErrDiskFull}, 1},
		{"stalled, then failed", []error{node.ErrUnknown, node.ErrFailed}, 1},
		{"stalled, and closed", []error{node.ErrUnknown}, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		asked, drained := 0, 0
		err := untilKnown(ctx, t.Context(), func(ctx context.Context) error {
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
				return node.ErrClosed
			}
			return nil
		})
		if asked != len(c.answers) || drained != c.drains || !errors.Is(err, c.answers[asked-1]) {
			t.Errorf("%s: %d tries, %d drains, %v", c.name, asked, drained, err)
		}
	}
}
