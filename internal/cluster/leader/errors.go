// Errors of the leader.

package leader

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// ErrForgotten: the voters lack a view that was agreed on. This happens if the disk of a voter
// was restored from an older copy while another one is down.
var ErrForgotten = errors.New("the cluster has forgotten what it agreed on: the disk of a voter is older than it was")

// Outdated returns a message: a machine has a smaller minor than its cluster.
func Outdated(minor, agreed uint64) string {
	return fmt.Sprintf("its release has protocol %s, and the cluster has agreed on %s, which never falls: start it with the release of the other nodes",
		protocol.Name(minor), protocol.Name(agreed))
}
