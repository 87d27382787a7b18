// Updates take turns although a machine dies.

package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A machine that dies or stops during its update, or that orders the updates of all, stops those of the others until it is
// excluded, and no longer. What it would have changed after that is not changed.
func TestUpdatesOutliveMachines(t *testing.T) {
	for _, c := range []struct {
		name           string
		updates, stops bool
	}{{"the one that updates dies", true, false}, {"the one that updates stops", true, true}, {"the one that orders the updates dies", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, 4, func(t *testing.T, w *world) {
				w.form()
				leader := w.leader()
				holder := w.others(leader)[0]
				for account := range 2 {
					w.mustAdd(leader, balance(account, 100))
				}
				// 1. An update runs while another one waits for it.
				begun, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				go func() {
					_, err := store.Update(t.Context(), holder.node, func(store.Reader) (store.Steps, error) {
						close(begun)
						<-resume
						if !c.updates {
							return store.Steps{}, nil
						}
						return store.Steps{Add: slices.Values([]triple.Triple{balance(0, 7), balance(1, 7)})}, nil
					})
					ended <- err
				}()
				<-begun
				dead := leader
				if c.updates {
					dead = holder
				}
				through := w.others(dead)[1]
				transferred := make(chan error, 1)
				node := through.node
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					transferred <- transfer(ctx, node, 0, 1, 20)
				}()
				time.Sleep(2 * time.Second)
				if len(transferred) != 0 {
					t.Error("two updates run at a time")
				}
				// 2. A machine dies. If it is not the one that updates, the next update still waits for that.
				if c.stops {
					w.net.Freeze(dead.name)
				} else {
					dead.kill()
				}
				if dead == holder {
					require.NoError(t, <-transferred)
					w.net.Thaw(dead.name)
					close(resume)
					if err := <-ended; err == nil {
						t.Error("the update of an excluded machine is done")
					}
				} else {
					time.Sleep(20 * time.Second)
					if len(transferred) != 0 {
						t.Error("an update runs beside one of an earlier view")
					}
					close(resume)
					require.NoError(t, <-ended)
					require.NoError(t, <-transferred)
				}
				all, err := look(t.Context(), through.node)
				require.NoError(t, err)
				if len(all[0]) != 1 || all[0][0] != 80 || len(all[1]) != 1 || all[1][0] != 120 {
					t.Errorf("balances: %v", all)
				}
			})
		})
	}
}

// The turn of an update lasts until its writes have ended, also if its client has gone: the next one sees them.
func TestTurnLastsAsItsWrites(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		w.spread()
		stuck, _, sequencer, holder := w.sameSequencer()
		through := w.others(sequencer)[0]
		for _, m := range []*machine{sequencer, through} { // the first update of a node in an epoch queries all members
			_, err := store.Update(t.Context(), m.node, func(store.Reader) (store.Steps, error) { return store.Steps{}, nil })
			require.NoError(t, err)
		}
		// 1. A write that waits for a holder, and a client that does not.
		w.net.Cut(sequencer.name, holder.name)
		soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := store.Update(soon, sequencer.node, func(store.Reader) (store.Steps, error) {
			return store.Steps{Add: slices.Values([]triple.Triple{stuck})}, nil
		})
		if !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%v, want an unknown outcome", err)
		}
		// 2. The next update waits, and sees what is written.
		began := false
		soon, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		next := func(sn store.Reader) (store.Steps, error) {
			began = true
			for _, err := range sn.Match(t.Context(), looks(stuck)[0], store.ReadOptions{}) {
				return store.Steps{}, err
			}
			return store.Steps{}, errors.New("the row is not there")
		}
		if _, err := store.Update(soon, through.node, next); !errors.Is(err, context.DeadlineExceeded) || began {
			t.Errorf("began: %t, %v", began, err)
		}
		w.net.Heal()
		if _, err := store.Update(t.Context(), through.node, next); err != nil {
			t.Error(err)
		}
	})
}
