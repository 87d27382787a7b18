// The epoch of a request, carried in its context.

package peer

import (
	"context"

	"github.com/trefoildb/trefoil/trie"
)

type epochKey struct{}

// WithEpoch returns a context whose requests carry an epoch. It must be the epoch of the view
// they were made under, because the sender may have adopted a newer one before they are sent.
func WithEpoch(ctx context.Context, epoch uint64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

// headerFor returns the header of a request.
func (c *Client) headerFor(ctx context.Context, to trie.MachineID) Header {
	h := c.header()
	h.To = to
	if epoch, ok := ctx.Value(epochKey{}).(uint64); ok {
		h.Epoch = epoch
	}
	return h
}
