// The conformance test of a member, and a member without network and leader.

// Package membertest tests implementations of [member.Member] and has one for other tests.
//
// [Test] checks the contract: Enter must block a new view, refusals must carry the right epoch,
// and Newer must return in time. [Fake] is a member with a view and a lease set by a test.
package membertest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
)

// yields is how often Test lets other goroutines run while an adoption must wait.
const yields = 100

// Test checks a member that has adopted a view and holds a lease for it. adopt makes it adopt
// a view of the next epoch and returns when it has.
func Test(t *testing.T, m member.Member, self member.Process, adopt func()) {
	t.Helper()
	first := m.View()
	if !self.IsMember(first) {
		t.Fatalf("View: %v does not list process %v", first, self)
	}

	// 1. The adopted view: Newer returns at once for every other one, and ends with its context.
	if err := m.Newer(t.Context(), nil); err != nil {
		t.Errorf("Newer than no view: %v", err)
	}
	cause := errors.New("the caller has ended")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := m.Newer(ended, first); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		t.Errorf("Newer with a context that has ended: %v", err)
	}
	if err := m.Lease(); err != nil {
		t.Errorf("Lease: %v", err)
	}

	// 2. The gate: several callers may be in it, and no other epoch enters.
	refused(t, m, first.Epoch+1, first.Epoch)
	refused(t, m, first.Epoch-1, first.Epoch)
	var leaves []func()
	for range 2 {
		leave, err := m.Enter(first.Epoch)
		if err != nil {
			t.Fatalf("Enter: %v", err)
		}
		leaves = append(leaves, leave)
	}

	// 3. No view is adopted before both have left; then Newer returns.
	var running sync.WaitGroup
	defer running.Wait()
	newer := make(chan error, 1)
	running.Go(func() { newer <- m.Newer(t.Context(), first) })
	running.Go(adopt)
	for _, leave := range leaves {
		for range yields { // a mutex does not let a bubble be idle, so adopt gets time to fail
			runtime.Gosched()
		}
		if v := m.View(); v != first {
			t.Errorf("epoch %d was adopted while a caller was in epoch %d", v.Epoch, first.Epoch)
		}
		select {
		case err := <-newer:
			t.Errorf("Newer returned %v before another view was adopted", err)
		default:
		}
		leave()
	}
	if err := <-newer; err != nil {
		t.Errorf("Newer: %v", err)
	}

	// 4. The next view: the old epoch is refused.
	next := m.View()
	if next.Epoch != first.Epoch+1 {
		t.Fatalf("epoch %d was adopted, want %d", next.Epoch, first.Epoch+1)
	}
	refused(t, m, first.Epoch, next.Epoch)
	leave, err := m.Enter(next.Epoch)
	if err != nil {
		t.Fatalf("Enter in the next epoch: %v", err)
	}
	leave()
}

// refused checks two facts: m refuses an epoch, and the refusal has the adopted one.
func refused(t *testing.T, m member.Member, epoch, adopted uint64) {
	t.Helper()
	leave, err := m.Enter(epoch)
	if err == nil {
		leave()
	}
	var r *peer.Refusal
	if !errors.As(err, &r) || r.Code != peer.CodeEpoch || r.Epoch != adopted {
		t.Errorf("Enter in epoch %d: %v, want a refusal of epoch %d", epoch, err, adopted)
	}
}

// Fake implements [member.Member], except for Call. Its zero value has no view, and a lease.
// The process must be set before use.
type Fake struct {
	Process member.Process

	gate    sync.RWMutex
	mu      sync.Mutex
	view    *view.View
	changed notify.Broadcast // another view is adopted
	lease   error
}

// View implements [member.Member].
func (f *Fake) View() *view.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view
}

// Newer implements [member.Member].
func (f *Fake) Newer(ctx context.Context, than *view.View) error {
	for {
		changed := f.changed.Next()
		if f.View() != than {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Enter implements [member.Member].
func (f *Fake) Enter(epoch uint64) (leave func(), err error) {
	f.gate.RLock()
	if v := f.View(); !f.Process.IsMember(v) || v.Epoch != epoch {
		f.gate.RUnlock()
		r := &peer.Refusal{Code: peer.CodeEpoch, Message: "another view"}
		if v != nil {
			r.Epoch = v.Epoch
		}
		return nil, r
	}
	return f.gate.RUnlock, nil
}

// Lease implements [member.Member].
func (f *Fake) Lease() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lease
}

// SetLease takes the lease away, with the error that Lease returns, or gives it back.
func (f *Fake) SetLease(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lease = err
}

// Adopt makes v the adopted view. within runs inside the gate, with v adopted; it may be nil.
func (f *Fake) Adopt(v *view.View, within func(before *view.View)) {
	f.gate.Lock()
	f.mu.Lock()
	before := f.view
	f.view = v
	f.mu.Unlock()
	if within != nil {
		within(before)
	}
	f.gate.Unlock()
	f.changed.Send()
}

// Free reports whether no caller is in the gate.
func (f *Fake) Free() bool {
	if !f.gate.TryLock() {
		return false
	}
	f.gate.Unlock()
	return true
}
