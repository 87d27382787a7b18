// Errors of a member, and refusals to others.

package cluster

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/node/peer"
)

// ErrExcluded: the cluster goes on without this machine. What its directory has
// is set aside by [node.SetAside]; then it may join as a new one.
var ErrExcluded = errors.New("the cluster has excluded this machine")

// ErrSuperseded: a process that started later runs as this machine, with a copy of its
// data directory, and the cluster goes on with that one.
var ErrSuperseded = errors.New("another process runs as this machine, with a copy of its data directory, and the cluster goes on with that one: " +
	"keep one of the two directories, and empty the other before it is started again with --join")

// ErrLogLost: the directory is a member's and lacks the log of the views that were
// agreed on, or has an older one than it had. A machine that started without it could
// found a second cluster, or forget what was agreed on.
var ErrLogLost = errors.New("the log of the cluster's views is missing")

// ErrLeft: this machine has left the cluster as it was asked to; the others have
// all that it held.
var ErrLeft = fmt.Errorf("%w: it has left, as it was asked to", ErrExcluded)

// ErrForgotten: the machines that vote do not know of a view that was agreed on.
// The disk of one of them was made what it had been earlier, and another one is away.
var ErrForgotten = errors.New("the cluster has forgotten what it agreed on: the disk of a voter is older than it was")

// ErrNotEmpty: a directory with data of its own cannot join a cluster.
var ErrNotEmpty = errors.New("the data directory is not empty")

// ErrOpenMember is returned for a member that would talk to the others where
// strangers are, without a way to tell them apart.
var ErrOpenMember = errors.New("a member of a cluster does not listen beyond loopback with neither certificates nor a gossip key: " +
	"start it with --ca, --cert and --key, or with --gossip-key-file, as the other members; or with --insecure where the network is trusted")

// ErrWrongCluster: the nodes are of different clusters.
var ErrWrongCluster = errors.New("another cluster")

// ErrProtocol: the cluster has agreed on a minor of the protocol that this build lacks.
var ErrProtocol = errors.New("this release is too old for the cluster")

// outdated says that a machine has a smaller minor than its cluster.
func outdated(minor, agreed uint64) string {
	return fmt.Sprintf("its release has protocol %s, and the cluster has agreed on %s, which never falls: start it with the release of the other nodes",
		protocol.Name(minor), protocol.Name(agreed))
}

// refuse returns the definite answer that nothing was done.
func refuse(code peer.Code, epoch uint64, format string, args ...any) *peer.Refusal {
	return &peer.Refusal{Code: code, Epoch: epoch, Message: fmt.Sprintf(format, args...)}
}

// passOn makes the refusal of another node this one's, where this one has done
// nothing but ask.
func passOn(err error) error {
	if r := (*peer.Refusal)(nil); errors.As(err, &r) {
		return &peer.Refusal{Code: r.Code, Message: r.Message, Epoch: r.Epoch}
	}
	return err
}
