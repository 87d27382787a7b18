// Errors of a member, and refusals to others.

package cluster

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// ErrExcluded: the cluster goes on without this machine. [directory.SetAside] sets its data aside;
// then it may join as a new one.
var ErrExcluded = errors.New("the cluster has excluded this machine")

// ErrSuperseded: a later process runs as this machine, with a copy of its data directory. The
// cluster goes on with the later one.
var ErrSuperseded = errors.New("another process runs as this machine, with a copy of its data directory, and the cluster goes on with that one: " +
	"keep one of the two directories, and empty the other before it is started again with --join")

// ErrLeft: this machine has left the cluster on request. The others have all its data.
var ErrLeft = fmt.Errorf("%w: it has left, as it was asked to", ErrExcluded)

// ErrNotEmpty: a directory with data of its own cannot join a cluster.
var ErrNotEmpty = errors.New("the data directory is not empty")

// ErrOpenMember is returned if strangers can reach a member's port, or it has users, and nothing
// authenticates the nodes.
var ErrOpenMember = errors.New("a member of a cluster does not listen beyond loopback or have users with neither certificates nor a gossip key: " +
	"start it with --ca, --cert and --key, or with --gossip-key-file, as the other members; or with --insecure where the network is trusted")

// ErrWrongCluster: the nodes are of different clusters.
var ErrWrongCluster = errors.New("another cluster")

// ErrProtocol: the cluster has agreed on a minor of the protocol, and this build lacks it.
var ErrProtocol = errors.New("this release is too old for the cluster")

// passOn turns the refusal of another node into this node's own. It must be used only if this one
// has done nothing but ask.
func passOn(err error) error {
	if r := (*peer.Refusal)(nil); errors.As(err, &r) {
		return &peer.Refusal{Code: r.Code, Message: r.Message, Epoch: r.Epoch}
	}
	return err
}
