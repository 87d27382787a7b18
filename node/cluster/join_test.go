package cluster

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

// A machine with another failure timeout than the cluster's does not join.
func TestJoinTimeouts(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		for _, lease := range []time.Duration{n.cfg.Lease / 2, n.cfg.Lease * 2} {
			body, err := json.Marshal(joining{Cluster: n.cfg.Name, Member: view.Member{ID: 7, Incarnation: 1, Address: "nobody:1"}, Lease: lease})
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
