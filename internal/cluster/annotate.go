// Annotations of triples.

package cluster

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/triple"
)

// Annotate sets an application's annotation of a triple. When it returns, the annotation is
// durable on all holders. Nil data removes it. The application id must have 1 to 255 bytes.
// Annotate returns [store.ErrNotFound] if the triple is missing.
func (n *Node) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	lone, err := n.onLone(func() error { return n.store.Annotate(ctx, t, applicationID, data) })
	if lone {
		return err
	}
	n.throttle.Begin()
	defer n.throttle.End()
	sn, err := n.reads.Snapshot()
	if err == nil {
		defer sn.Close()
		note := replica.Note{ApplicationID: applicationID, Removed: data == nil, Data: bytes.Clone(data)}
		err = n.writes.Annotate(ctx, t, note, sn.Version)
	}
	if err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}
