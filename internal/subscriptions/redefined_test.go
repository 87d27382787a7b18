// Tests of definitions that change during deliveries.

package subscriptions

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestRedefined: a subscription gets another filter and URL during a send, and the follower notices only
// later. The worker of the former definition must not move the position behind changes that only the
// new filter selects, and must not go on.
func TestRedefined(t *testing.T) {
	for name, since := range map[string]bool{"at its position": false, "since": true} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) { redefined(t, w, since) })
		})
	}
}

func redefined(t *testing.T, w *world, since bool) {
	gated := &gatedStore{Store: w.store}
	w.registry.Store = gated
	sender := &gatedSender{receiver: w.receiver}
	m := w.start(Options{Sender: sender})
	w.put("sub", map[string]string{"p": "p"})
	w.until("it is taken up", m.is("sub", func(s *subscription) bool { return s.loaded && !s.running }))
	begin := w.state("sub").Position
	// 1. The filter changes during a send. What only the new one selects lies before the end of the batch.
	sender.gate.close()
	w.add(number("q", 0))
	w.add(number("p", 0))
	w.until("the send", m.is("sub", func(s *subscription) bool { return s.running }))
	synctest.Wait()
	gated.follow.close()
	d := Definition{Name: "sub", Filter: map[string]string{"p": "q"}, URL: "https://ex/new"}
	if !since {
		begin = ""
	}
	if _, err := w.registry.Put(t.Context(), Caller{}, d, begin); err != nil {
		t.Fatal(err)
	}
	want := w.state("sub").Position
	// 2. The send ends. The former definition sends nothing more, and leaves the state alone.
	sender.gate.open()
	synctest.Wait()
	w.add(number("p", 1), number("q", 1))
	time.Sleep(10 * storeWait) // of virtual time
	synctest.Wait()
	if got := w.receiver.of("sub"); !slices.Equal(got, []string{"add 0"}) {
		t.Errorf("the former webhook got %v", got)
	}
	if got := w.state("sub"); got.Position != want || got.Changes != 0 {
		t.Errorf("the former definition left the state %+v, want position %s", got, want)
	}
	gated.follow.open()
	w.until("the changes", func() bool { return slices.Equal(w.receiver.of("new"), []string{"add 0", "add 1"}) })
}

// TestRedefinedFailures: the failures of a receiver are not those of the next one.
func TestRedefinedFailures(t *testing.T) {
	w := newWorld(t)
	w.put("sub", nil)
	s, err := w.registry.Get(t.Context(), "sub")
	require.NoError(t, err)
	since := time.Now().Add(-time.Hour)
	s.State.Failures, s.State.FailingSince, s.State.Changes = 7, &since, 10
	require.NoError(t, w.registry.save(t.Context(), s))
	w.put("sub", map[string]string{"p": "p"})
	if got := w.state("sub"); got.Failures != 7 || got.FailingSince == nil {
		t.Errorf("the same receiver: %+v", got)
	}
	if _, err := w.registry.Put(t.Context(), Caller{}, Definition{Name: "sub", URL: "https://ex/other"}, ""); err != nil {
		t.Fatal(err)
	}
	if got := w.state("sub"); got.Failures != 0 || got.FailingSince != nil || got.Changes != 10 || got.Position != s.State.Position {
		t.Errorf("another receiver: %+v", got)
	}
}

// TestPutAgain: a subscription is deleted and stored again under its name during a send. The former one
// leaves its state alone.
func TestPutAgain(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		gated := &gatedStore{Store: w.store}
		w.registry.Store = gated
		sender := &gatedSender{receiver: w.receiver}
		m := w.start(Options{Sender: sender})
		w.put("sub", map[string]string{"p": "p"})
		w.until("it is taken up", m.is("sub", func(s *subscription) bool { return s.loaded && !s.running }))
		// 1. The send begins, and the follower stops.
		sender.gate.close()
		w.add(number("p", 0))
		w.until("the send", m.is("sub", func(s *subscription) bool { return s.running }))
		synctest.Wait()
		gated.follow.close()
		// 2. It is deleted and stored again, by the same definition.
		require.NoError(t, w.registry.Delete(t.Context(), Caller{}, "sub"))
		w.put("sub", map[string]string{"p": "p"})
		want := w.state("sub")
		w.add(number("p", 1))
		sender.gate.open()
		synctest.Wait()
		time.Sleep(10 * storeWait) // of virtual time
		if got := w.state("sub"); got.Position != want.Position || got.Changes != 0 {
			t.Errorf("the former one left %+v, want %+v", got, want)
		}
		gated.follow.open()
		w.until("the change", func() bool { return slices.Equal(w.receiver.of("sub"), []string{"add 0", "add 1"}) })
	})
}
