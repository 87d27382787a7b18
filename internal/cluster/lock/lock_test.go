// Tests of the lock of a cluster: no two have it, and nobody waits for it for good.

package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/member/membertest"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// machine is a member whose messages go to the others by calls.
type machine struct {
	membertest.Fake
	lock  *Lock
	peers map[trie.MachineID]*machine
	gate  func(ctx context.Context, to trie.MachineID, method string) error // every call passes it first
	after func(ctx context.Context, to trie.MachineID, method string)       // runs before an answer comes
}

func (m *machine) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if m.gate != nil {
		if err := m.gate(ctx, to, method); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	answer, err := m.peers[to].lock.handle(ctx, method, body)
	if m.after != nil {
		m.after(ctx, to, method)
	}
	return answer, err
}

// viewOf returns a view of machines, which must ascend.
func viewOf(epoch uint64, oracle trie.MachineID, ids ...trie.MachineID) *view.View {
	v := &view.View{Epoch: epoch, Proposer: oracle}
	for _, id := range ids {
		v.Members = append(v.Members, view.Member{ID: id, Incarnation: 1})
	}
	return v
}

func machines(t *testing.T, n int) []*machine {
	var all []*machine
	var ids []trie.MachineID
	of := map[trie.MachineID]*machine{}
	for id := trie.MachineID(1); id <= trie.MachineID(n); id++ {
		m := &machine{peers: of}
		m.Process = member.Process{Machine: id, Incarnation: 1}
		m.lock = New(m, id)
		t.Cleanup(m.lock.Close)
		of[id] = m
		all, ids = append(all, m), append(ids, id)
	}
	adopt(viewOf(1, 1, ids...), all...)
	return all
}

func adopt(v *view.View, ms ...*machine) {
	for _, m := range ms {
		m.Adopt(v, nil)
	}
}

// acquire returns the release of a lock that must be granted.
func (m *machine) acquire(t *testing.T) (release func()) {
	t.Helper()
	release, err := m.lock.Acquire(t.Context())
	require.NoError(t, err)
	return release
}

// begin begins to acquire and returns when it waits. The release comes when it has the lock.
func (m *machine) begin(t *testing.T) <-chan func() {
	granted := make(chan func(), 1)
	go func() {
		if release, err := m.lock.Acquire(t.Context()); err == nil {
			granted <- release
		}
	}()
	synctest.Wait()
	return granted
}

// At most one has the lock, while views change and whichever messages are lost.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 4)
		var calls atomic.Int64
		for _, m := range ms {
			m.gate = func(ctx context.Context, _ trie.MachineID, _ string) error {
				time.Sleep(time.Duration(calls.Add(1)%7) * time.Millisecond)
				if calls.Load()%5 == 0 {
					return errors.New("the message is lost")
				}
				return nil
			}
		}
		var holders, turns atomic.Int64
		var running sync.WaitGroup
		for _, m := range ms {
			for range 3 {
				running.Go(func() {
					for range 10 {
						release, err := m.lock.Acquire(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						if n := holders.Add(1); n != 1 {
							t.Errorf("%d have the lock", n)
						}
						time.Sleep(3 * time.Millisecond)
						turns.Add(1)
						holders.Add(-1)
						release()
					}
				})
			}
		}
		for epoch := uint64(2); epoch < 12; epoch++ {
			time.Sleep(50 * time.Millisecond)
			v := viewOf(epoch, trie.MachineID(epoch%4+1), 1, 2, 3, 4)
			for _, m := range ms {
				adopt(v, m)
				time.Sleep(2 * time.Millisecond)
			}
		}
		running.Wait()
		if turns.Load() != 120 {
			t.Errorf("%d turns", turns.Load())
		}
	})
}

// If a release is lost, or a machine has given up while it waited, the next one gets the lock all the same.
func TestLostMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		ms[1].gate = func(_ context.Context, _ trie.MachineID, method string) error {
			if method == methodRelease {
				return errors.New("the message is lost")
			}
			return nil
		}
		release := ms[1].acquire(t)
		waiting := ms[2].begin(t)
		time.Sleep(3 * checkAfter)
		synctest.Wait()
		if len(waiting) != 0 {
			t.Fatal("the lock was taken away")
		}
		release()
		began := time.Now()
		release = <-waiting
		if waited := time.Since(began); waited > checkAfter {
			t.Errorf("it waited %s", waited)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := ms[0].lock.Acquire(limited); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		release()
		synctest.Wait()
		ms[0].acquire(t)()
		// The answer is lost, and nothing ends the connection.
		lost := 0
		ms[2].after = func(ctx context.Context, _ trie.MachineID, method string) {
			if method == methodAcquire && lost == 0 {
				lost++
				<-ctx.Done()
			}
		}
		began = time.Now()
		ms[2].acquire(t)()
		if waited := time.Since(began); lost != 1 || waited > acquireTimeout+3*checkAfter {
			t.Errorf("%d answers are lost, it waited %s", lost, waited)
		}
	})
}

// The oracle of a new view waits for the tickets of earlier views, on members only.
func TestViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		release := ms[1].acquire(t)
		waiting := ms[2].begin(t)
		adopt(viewOf(2, 3, 1, 2, 3), ms...)
		time.Sleep(10 * time.Second)
		if len(waiting) != 0 {
			t.Fatal("the lock was granted beside that of an earlier view")
		}
		release()
		release = <-waiting
		// A machine that is excluded with the lock keeps nobody waiting.
		next := ms[0].begin(t)
		adopt(viewOf(3, 1, 1, 2), ms[:2]...)
		(<-next)()
		ms[1].acquire(t)()
		release()
	})
}

// What an excluded oracle grants does not count.
func TestExcludedOracle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		moved := false
		ms[1].after = func(_ context.Context, to trie.MachineID, method string) {
			if method == methodAcquire && to == 1 && !moved {
				moved = true
				adopt(viewOf(2, 3, 2, 3), ms[1:]...)
			}
		}
		release := ms[1].acquire(t)
		if _, ok := ms[2].lock.queue.head(2); !ok || !moved {
			t.Error("the lock is not that of the new view")
		}
		release()
	})
}

// Requests of another view, to another machine than the oracle, and without a view are refused; those of a closed lock end.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := machines(t, 3)
		for _, refused := range []ticket{{2, 2, 1}, {1, 2, 1}} {
			err := ms[refused.epoch%2+1].lock.grant(t.Context(), refused)
			if !errors.As(err, new(*peer.Refusal)) {
				t.Errorf("%v: %v", refused, err)
			}
		}
		if _, err := ms[0].lock.handle(t.Context(), methodAcquire, []byte{1}); err == nil {
			t.Error("a short message is answered")
		}
		release := ms[0].acquire(t)
		ended := make(chan error, 1)
		go func() {
			_, err := ms[1].lock.Acquire(t.Context())
			ended <- err
		}()
		synctest.Wait()
		ms[1].lock.Close()
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		release()
		// A machine without a view waits for one.
		before := ms[2].View()
		ms[2].Adopt(nil, nil)
		if _, err := ms[2].lock.Acquire(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("no view: %v", err)
		}
		waiting := ms[2].begin(t)
		ms[2].Adopt(before, nil)
		(<-waiting)()
	})
}
