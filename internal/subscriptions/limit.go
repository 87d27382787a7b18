// The limit of the number of subscriptions.

package subscriptions

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
)

// defaultMax bounds the time to read all subscriptions, and the memory of a member: some 2 KiB each.
const defaultMax = 20_000

// reserve returns an error if there is no room for a new subscription. Subscriptions are counted
// rarely: an eighth of the room that a count finds is taken without another one. So eight members
// that register at the same time keep to the limit.
func (r *Registry) reserve(ctx context.Context) error {
	// 1. Take room that is left, or wait for the count under way. The mutex is not held during a count,
	// because a store may be slow, and each caller waits no longer than its own context.
	counted := make(chan struct{})
	for {
		r.mu.Lock()
		if r.room > 0 {
			r.room--
			r.mu.Unlock()
			return nil
		}
		wait := r.counting
		if wait == nil {
			r.counting = counted
		}
		r.mu.Unlock()
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	n, err := r.count(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counting = nil
	close(counted)
	if err != nil {
		return err
	}
	// 2. Take a part of the room.
	most := r.Max
	if most == 0 {
		most = defaultMax
	}
	if n >= most {
		return fmt.Errorf("%w: there are %d, and %d are the most: delete some, or use wider patterns", ErrTooMany, n, most)
	}
	r.room = (most-n+7)/8 - 1
	return nil
}

// count returns the number of subscriptions.
func (r *Registry) count(ctx context.Context) (n int64, err error) {
	reader, err := r.Store.Reader()
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	for _, err := range reader.Range(ctx, all, store.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
