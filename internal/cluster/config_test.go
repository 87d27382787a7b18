// Tests of machines whose clock is not fit for leases.

package cluster

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
)

// A machine without such a clock joins no cluster, resumes in none, and forms none.
func TestNoClock(t *testing.T) {
	cause := errors.New("no clock on plan9")
	n := &Node{membership: &membership{cfg: Config{Name: DefaultName, noClock: cause}, gate: gate.New(7, 1)}}
	if _, err := n.openParts(); !errors.Is(err, cause) {
		t.Errorf("open: %v", err)
	}
	body, err := json.Marshal(joining{Cluster: DefaultName, Member: view.Member{ID: 7, Address: "h:1", Minor: protocol.Minor}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.handleJoin(t.Context(), peer.Header{}, body); err == nil || !strings.Contains(err.Error(), cause.Error()) {
		t.Errorf("join: %v", err)
	}
}
