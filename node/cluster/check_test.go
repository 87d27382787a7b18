package cluster

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/node"
)

// What an epoch's end cuts off may be done later: who asked for a check may ask again.
func TestEndedByEpoch(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		ctx, cancel := nodes[0].during(t.Context(), nodes[0].View().Epoch-1)
		defer cancel()
		<-ctx.Done()
		if err := later(ended(ctx, ctx.Err())); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		ctx, cancel = nodes[0].during(t.Context(), nodes[0].View().Epoch)
		defer cancel()
		if err := ended(ctx, node.ErrCorrupt); err != node.ErrCorrupt {
			t.Errorf("%v", err)
		}
	})
}
