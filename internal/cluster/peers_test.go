// Tests of the room for reads.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
				if _, err := other.client.Call(t.Context(), peer.Recipient{Address: leader.Address()}, "reads/hold", nil); err != nil {
					t.Error(err)
				}
			})
		}
		for range leader.cfg.maxReads() {
			<-entered
		}
		_, err := other.client.Call(t.Context(), peer.Recipient{Address: leader.Address()}, "reads/hold", nil)
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

// TestAnotherMachineAtAddress: no machine answers for another one, by any method. The error is that of an
// address without a machine: definite, and no answer of the recipient.
func TestAnotherMachineAtAddress(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		at, other := nodes[0], nodes[1]
		to := peer.Recipient{Machine: at.MachineID() + 1, Address: at.Address()}
		want := fmt.Sprintf("this is machine %s, not %s", at.MachineID(), to.Machine)
		for _, method := range at.Methods() {
			_, err := other.client.Call(t.Context(), to, method, nil)
			if err == nil || !peer.IsDefinite(err) || isRefusal(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", method, err)
			}
		}
		to.Machine = at.MachineID()
		if _, err := other.client.Call(t.Context(), to, methodWho, nil); err != nil {
			t.Error(err)
		}
	})
}
