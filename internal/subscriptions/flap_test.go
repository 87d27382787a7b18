// Tests of ownership that changes during deliveries.

package subscriptions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// is returns a condition on a subscription of a manager.
func (m *Manager) is(name string, ok func(s *subscription) bool) func() bool {
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		s := m.names[name]
		return s != nil && ok(s)
	}
}

// TestFlap: a member loses a subscription while it sends, gets it again, and the send ends only then.
// A change that was made in between is delivered.
func TestFlap(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		gated := &gatedStore{Store: w.store}
		w.registry.Store = gated
		sender := &gatedSender{receiver: w.receiver}
		var owner atomic.Bool
		owner.Store(true)
		m := w.start(Options{Sender: sender, Owns: func([]byte) bool { return owner.Load() }})
		w.put("sub", map[string]string{"p": "p"})
		w.until("it is taken up", m.is("sub", func(s *subscription) bool { return s.loaded && !s.running }))
		// 1. It is lost during a send, and a change is made.
		sender.gate.close()
		w.add(number("p", 0))
		w.until("the send", m.is("sub", func(s *subscription) bool { return s.running }))
		owner.Store(false)
		w.until("the loss", m.is("sub", func(s *subscription) bool { return !s.owned }))
		w.add(number("p", 1))
		end, err := w.store.Feed().Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.until("the follower", m.is("sub", func(*subscription) bool { return m.position.Reaches(end) }))
		// 2. It is taken up again. The send ends before its position is read.
		gated.gate.close()
		owner.Store(true)
		w.until("the new term", m.is("sub", func(s *subscription) bool { return s.owned }))
		sender.gate.open()
		synctest.Wait()
		gated.gate.open()
		w.until("the change", func() bool { return slices.Contains(w.receiver.of("sub"), "add 1") })
	})
}

// TestFlaps moves a subscription between two managers at random, while sends take random times. Each
// change is delivered, although none follows the last one.
func TestFlaps(t *testing.T) {
	for range 20 {
		seed := rand.Uint64()
		simulate(t, func(t *testing.T, w *world) {
			rng := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			random := func(most time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(rng.Int64N(int64(most)))
			}
			sender := &gatedSender{receiver: w.receiver, delay: func() time.Duration { return random(30 * time.Millisecond) }}
			var owner atomic.Int32
			for i := range int32(2) {
				w.start(Options{Sender: sender, Owns: func([]byte) bool { return owner.Load() == i }})
			}
			w.put("sub", map[string]string{"p": "p"})
			const changes = 30
			for n := range changes {
				w.add(number("p", n))
				time.Sleep(random(15 * time.Millisecond))
				owner.Store(int32(random(3))) // 2 is no manager
			}
			owner.Store(0)
			w.until(fmt.Sprint("all changes, seed ", seed), func() bool {
				got := w.receiver.of("sub")
				for n := range changes {
					if !slices.Contains(got, fmt.Sprint("add ", n)) {
						return false
					}
				}
				return true
			})
		})
	}
}
