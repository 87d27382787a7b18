package cluster

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/node"
)

// untilKnown writes something within the gate. Once begun it ends before the gate is
// left, whoever waits for it: the next view must not meet it half done. So where the
// store gives up waiting for the disk, the same is written again, behind the one
// before, and no other answer counts but that it is done, or that nothing will be done
// any more.
func untilKnown(ctx, closing context.Context, write func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	for begun := false; ; wait(closing, workRetry) {
		err := write(ctx)
		begun = begun || errors.Is(err, node.ErrUnknown)
		if !begun || err == nil || errors.Is(err, node.ErrFailed) || errors.Is(err, node.ErrClosed) || closing.Err() != nil {
			return err
		}
	}
}
