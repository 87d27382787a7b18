// The node is a member, as writes and loads see it and as reads do.

package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
)

func TestMember(t *testing.T) {
	for name, of := range map[string]func(*Node) member.Member{
		"node":   func(n *Node) member.Member { return localOf(n) },
		"reader": func(n *Node) member.Member { return readMember{localOf(n), n.writes} },
	} {
		t.Run(name, func(t *testing.T) {
			pair(t, -1, func(t *testing.T, nodes []*Node) {
				n := nodes[0]
				membertest.Test(t, of(n), n.process(), func() {
					next, err := n.View().SetLease(2 * n.View().Lease)
					if err != nil {
						t.Error(err)
						return
					}
					n.adopt(next)
				})
			})
		})
	}
}

func localOf(n *Node) localMember { return localMember{n.membership, n.isolation, n.peers} }
