// The two ways to wake goroutines.

// Package notify wakes goroutines that also wait for something else, so that [sync.Cond] does not serve: a
// [Broadcast] wakes all that wait for a change, a [Wake] wakes the one that does the work.
package notify

import "sync"

// Broadcast wakes all goroutines that wait for a change. The zero value is ready. Its methods are safe for
// concurrent use. A change between the check of a condition and Next would be missed, so Next comes first:
//
//	for {
//		changed := b.Next()
//		if condition() {
//			return
//		}
//		<-changed
//	}
type Broadcast struct {
	mu   sync.Mutex
	next chan struct{} // nil if no goroutine waits
}

// Next returns a channel that the next Send closes.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Send wakes all goroutines that wait.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// Wake holds a token if there may be work. The goroutine that does the work receives the token before it
// looks, so no work is left behind; several calls of Send may wake it once.
type Wake chan struct{}

// NewWake returns a Wake without a token.
func NewWake() Wake { return make(Wake, 1) }

// Send puts the token, unless it is there.
func (w Wake) Send() {
	select {
	case w <- struct{}{}:
	default:
	}
}
