// Tests of joining.

package cluster

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
)

// A machine with too many bytes of unknown fields does not join, because all members would
// keep them.
func TestJoinBounds(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		body, err := json.Marshal(joining{Cluster: n.cfg.Name, Member: view.Member{ID: 7, Incarnation: 1, Address: "nobody:1", State: view.Up, Minor: protocol.Minor}, Lease: n.cfg.Lease})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(body), `"state":`, `"zone":"`+strings.Repeat("z", 5000)+`","state":`, 1)
		_, err = n.handleJoin(t.Context(), peer.Header{}, []byte(text))
		if r := (*peer.Refusal)(nil); !errors.As(err, &r) || r.Code != peer.CodeStranger || !strings.Contains(r.Message, "4096 are allowed") {
			t.Errorf("a machine joins with 5,000 bytes that this release does not know: %v", err)
		}
		r := nodes[1].reporter.makeReport()
		r.Self = new(view.Member)
		if err := json.Unmarshal([]byte(`{"id":"0000000000000007","zone":"`+strings.Repeat("z", 5000)+`","state":"up"}`), r.Self); err != nil {
			t.Fatal(err)
		}
		for _, to := range nodes {
			if to.agreement().IsLeader() {
				if _, err := to.leader().Receive(t.Context(), r); err == nil || !strings.Contains(err.Error(), "4096 are allowed") {
					t.Errorf("a report with 5,000 such bytes: %v", err)
				}
			}
		}
	})
}

// A machine with another failure timeout than the cluster's does not join.
func TestJoinTimeouts(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		for _, lease := range []time.Duration{n.cfg.Lease / 2, n.cfg.Lease * 2} {
			body, err := json.Marshal(joining{Cluster: n.cfg.Name, Member: view.Member{ID: 7, Incarnation: 1, Address: "nobody:1", Minor: protocol.Minor}, Lease: lease})
			if err != nil {
				t.Fatal(err)
			}
			_, err = n.handleJoin(t.Context(), peer.Header{}, body)
			if r := (*peer.Refusal)(nil); !errors.As(err, &r) || r.Code != peer.CodeStranger || !strings.Contains(r.Message, "--failure-timeout") {
				t.Errorf("leases of %s: %v", lease, err)
			}
		}
	})
}
