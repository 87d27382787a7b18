// Writes with a result that must be known.

package gate

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/store"
)

// UntilKnown writes within the gate. A begun write must end before the gate is left, even if its
// caller has given up, because the next view must not meet it half done. So if the store stops
// waiting for the disk, UntilKnown drains it and writes the same again, until the result is known
// or closing ends.
func UntilKnown(ctx, closing context.Context, write, drain func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	for {
		err := write(ctx)
		if !errors.Is(err, store.ErrUnknown) || drain(closing) != nil {
			return err
		}
	}
}
