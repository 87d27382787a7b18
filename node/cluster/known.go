package cluster

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/node"
)

// untilKnown writes something within the gate. Once begun it ends before the gate is
// left, whoever waits for it: the next view must not meet it half done. So where the
// store gives up waiting for the disk, what was begun is drained, and the same is
// written again, to know what has become of it; closing ends that.
func untilKnown(ctx, closing context.Context, write, drain func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	for {
		err := write(ctx)
		if !errors.Is(err, node.ErrUnknown) || drain(closing) != nil {
			return err
		}
	}
}
