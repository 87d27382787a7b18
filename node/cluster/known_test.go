package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/trefoildb/trefoil/node"
)

// What was begun is not given up for a refusal of the second try, nor because nobody
// waits for it.
func TestUntilKnown(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []error
	}{
		{"done", []error{nil}},
		{"refused", []error{node.ErrBusy}},
		{"full", []error{node.ErrDiskFull}},
		{"stalled, then done", []error{node.ErrUnknown, node.ErrUnknown, nil}},
		{"stalled, then no place in the queue", []error{node.ErrUnknown, node.ErrBusy, node.ErrDiskFull, nil}},
		{"stalled, then failed", []error{node.ErrUnknown, node.ErrFailed}},
		{"stalled, then closed", []error{node.ErrUnknown, node.ErrBusy, node.ErrClosed}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			err := untilKnown(ctx, t.Context(), func(ctx context.Context) error {
				cancel()
				if ctx.Err() != nil {
					t.Errorf("%s: try %d is interrupted", c.name, asked)
				}
				asked++
				return c.answers[asked-1]
			})
			if asked != len(c.answers) || !errors.Is(err, c.answers[asked-1]) {
				t.Errorf("%s: %d tries, %v", c.name, asked, err)
			}
		})
	}
}
