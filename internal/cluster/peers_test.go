// Tests of the room for reads.

package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// Reads that fill their share do not end a lease: reports and deliveries have room.
func TestReadsLeaveRoom(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		leader, other := nodes[0], nodes[1]
		if other.agreement().IsLeader() {
			leader, other = other, leader
		}
		entered, leave := make(chan struct{}), make(chan struct{})
		leader.server.Handle("reads/hold", func(context.Context, peer.Header, []byte) ([]byte, error) {
			entered <- struct{}{}
			<-leave
			return nil, nil
		})
		var group sync.WaitGroup
		for range leader.cfg.maxReads() {
			group.Go(func() {
				if _, err := other.client.Call(t.Context(), leader.Address(), "reads/hold", nil); err != nil {
					t.Error(err)
				}
			})
		}
		for range leader.cfg.maxReads() {
			<-entered
		}
		_, err := other.client.Call(t.Context(), leader.Address(), "reads/hold", nil)
		if r := (*peer.Refusal)(nil); !errors.As(err, &r) || r.Code != peer.CodeBusy {
			t.Errorf("one more read: %v", err)
		}
		for range 30 {
			time.Sleep(time.Second) // of virtual time
			if err := other.Lease(); err != nil {
				t.Fatal(err)
			}
		}
		close(leave)
		group.Wait()
	})
}
