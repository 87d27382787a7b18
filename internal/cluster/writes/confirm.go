// What a sequencer without a place in base asks before it stamps.

package writes

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/trie"
)

// confirm returns nil if the machines that a route names are in the epoch of its view and have leases. So when
// the request began, no operation of a later epoch was committed on its triples. Otherwise the error is a
// refusal, because a retry helps when this machine has adopted the next view.
func (sq *sequencer) confirm(ctx context.Context, t *route) error {
	return sq.requestMembers(ctx, t.confirms, methodConfirm, t.view.Epoch, "a later view may have another sequencer")
}

// handleConfirm answers writes/confirm. The lease must come last: without one, the machine may be excluded, and
// later views go on without it.
func (sq *sequencer) handleConfirm(_ context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	if err := peer.Decode(body, func(c *peer.Coder) { c.Uvarint(&epoch) }); err != nil {
		return nil, malformed(err)
	}
	leave, err := sq.member.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := sq.member.Lease(); err != nil {
		return nil, noLease(sq.member.View(), err)
	}
	return nil, nil
}

// requestMembers sends an epoch to machines, at the same time. If one of them refuses or fails, it returns a refusal,
// which begins with why.
func (sq *sequencer) requestMembers(ctx context.Context, machines map[trie.MachineID]bool, method string, epoch uint64, why string) error {
	body := peer.Encode(16, func(c *peer.Coder) { c.Uvarint(&epoch) })
	ctx, cancel := context.WithTimeout(ctx, sq.options.Attempt)
	defer cancel()
	var mu sync.Mutex
	var failed error
	var requests sync.WaitGroup
	for m := range machines {
		if m == sq.self.Machine {
			continue
		}
		requests.Go(func() {
			if _, err := sq.member.Call(ctx, m, method, body); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = fmt.Errorf("machine %s: %w", m, err)
			}
		})
	}
	requests.Wait()
	if failed != nil {
		return peer.Refuse(peer.CodeUnavailable, epoch, "%s: %v", why, failed)
	}
	return nil
}
