// Resuming: how a machine takes up its membership after a start.

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// resume starts a machine if it is a member already.
func (n *Node) resume(ctx context.Context, identity store.Identity) error {
	// 1. Read the agreed views from the disk. There is no view until a leader answers. If the
	// cluster went on without this machine, none ever comes, so it must query others.
	stored, _, err := agreement.Stored(n.agreementConfig())
	if err != nil {
		return err
	}
	if stored != nil && view.IsAncestor(identity.Lineage, stored.Lineage) {
		// A recovery of the majority was interrupted before its last step.
		identity.Lineage, identity.Generation = stored.Lineage, stored.Generation
		if err := n.store.SetIdentity(identity); err != nil {
			return err
		}
	}
	forms, err := n.checkLog(stored, identity)
	if err != nil {
		return err
	}
	if stored != nil {
		n.isolation.lease.setLength(stored.Lease)
		for _, m := range stored.Members {
			if m.ID != n.self { // it may listen elsewhere now
				n.known = append(n.known, m.Address)
			}
		}
		// Releases without digests have left none on the disk.
		if seen := seenOf(stored); n.reporter.seen.Digest == 0 && n.reporter.seen.Generation == seen.Generation && n.reporter.seen.Epoch == seen.Epoch {
			n.reporter.seen = seen
		}
	}
	// 2. The cluster was being formed when the process ended: nobody has adopted a view of
	// it, and it begins anew.
	if forms {
		identity.Lineage, identity.Forming = generation.NewLineage(), true
		if err := n.store.SetIdentity(identity); err != nil {
			return err
		}
	}
	if others := n.Members(); n.cfg.Closed && len(others) > 0 {
		return fmt.Errorf("%w: %s is that of a member of %q, as are the machines at %s", ErrOpenMember, n.store.Dir(), identity.Cluster, strings.Join(others, ", "))
	}
	p, err := n.openParts()
	if err != nil || !forms {
		return err
	}
	return n.bootstrap(ctx, p, identity)
}

// checkLog reports whether a member without a stored view must form its cluster. It may only if
// it was forming it before. checkLog returns [agreement.ErrLogLost] if the machine has adopted
// views and its log lacks them.
func (n *Node) checkLog(stored *view.View, identity store.Identity) (forms bool, err error) {
	if n.follows {
		return false, nil
	}
	if stored == nil && (identity.Forming || identity.Lineage == "" && n.reporter.seen == store.AdoptedView{}) {
		return true, nil
	}
	raft, lacks := filepath.Join(n.store.Dir(), agreement.DirName), "is missing or empty"
	if stored != nil {
		if stored.Generation > n.reporter.seen.Generation || stored.Generation == n.reporter.seen.Generation && stored.Epoch >= n.reporter.seen.Epoch {
			return false, nil
		}
		lacks = fmt.Sprintf("is an older one, which ends with generation %d, epoch %d", stored.Generation, stored.Epoch)
	}
	return false, fmt.Errorf("%w: %s %s: this directory is of machine %s, a member of cluster %q, which has adopted generation %d, epoch %d, "+
		"and it must not start without what was agreed on. Either put %s back as it was when the process ended last, "+
		"such as by mounting its disk. Or give up what this machine has, which the others have, too: "+
		"trefoil cluster set-aside --data %s --join HOST:PORT --force, with the address of another member; then start it again. "+
		"If most machines are lost, first read \"The directory raft/ is lost\" in docs/operations/cluster.md",
		agreement.ErrLogLost, raft, lacks, n.self, identity.Cluster, max(n.reporter.seen.Generation, identity.Generation), n.reporter.seen.Epoch,
		raft, n.store.Dir())
}
