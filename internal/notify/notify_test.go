// Tests of the ways to wake goroutines.

package notify

import (
	"sync"
	"testing"
	"testing/synctest"
)

func TestBroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Broadcast
		b.Send() // nobody waits
		var woken sync.WaitGroup
		for range 3 {
			next := b.Next()
			woken.Go(func() { <-next })
		}
		synctest.Wait()
		b.Send()
		woken.Wait()
		select {
		case <-b.Next():
			t.Error("a channel that was taken after the change is closed")
		default:
		}
	})
}

func TestWake(t *testing.T) {
	w := NewWake()
	w.Send()
	w.Send()
	<-w
	select {
	case <-w:
		t.Error("two calls of Send left two tokens")
	default:
	}
	w.Send()
	<-w
}
