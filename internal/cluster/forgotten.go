// Views which the voters lack.

package cluster

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// seenOf names a view.
func seenOf(v *view.View) store.Seen {
	return store.Seen{Generation: v.Generation, Epoch: v.Epoch, Digest: v.Digest()}
}

// newestSeen names the newest view this machine has adopted, by its disk or by this process.
func (n *Node) newestSeen() store.Seen {
	v := n.View()
	if v == nil || v.Generation < n.seen.Generation || v.Generation == n.seen.Generation && v.Epoch < n.seen.Epoch {
		return n.seen
	}
	return seenOf(v)
}
