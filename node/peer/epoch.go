package peer

import "context"

type epochKey struct{}

// WithEpoch returns a context whose requests are sent as of an epoch: that of the
// view under which they were made, where the sender may have adopted a newer one
// by the time that they go out.
func WithEpoch(ctx context.Context, epoch uint64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

// headerFor returns the header of a request.
func (c *Client) headerFor(ctx context.Context) Header {
	h := c.header()
	if epoch, ok := ctx.Value(epochKey{}).(uint64); ok {
		h.Epoch = epoch
	}
	return h
}
