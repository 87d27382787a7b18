package cluster

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// Annotate sets what an application notes on a triple, durably on all machines that
// have it when it returns; nil data removes it. The application id is 1 to 255 bytes.
// [node.ErrNotFound] says that the triple is not there.
func (n *Node) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	lone, err := n.onLone(func() error { return n.store.Annotate(ctx, t, applicationID, data) })
	if lone {
		return err
	}
	n.pace.begin()
	defer n.pace.end()
	sn, err := n.reads.Snapshot()
	if err == nil {
		defer sn.Close()
		note := node.Note{ApplicationID: applicationID, Removed: data == nil, Data: bytes.Clone(data)}
		err = n.writes.Annotate(ctx, t, note, sn.Version)
	}
	if err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}
