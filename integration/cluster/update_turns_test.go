// Updates take turns although a machine dies.

package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// A machine that dies during its update, or that orders the updates of all, stops those of the others until it is
// excluded, and no longer.
func TestUpdatesOutliveMachines(t *testing.T) {
	for name, victim := range map[string]func(holder, leader *machine) *machine{
		"the one that updates":            func(holder, _ *machine) *machine { return holder },
		"the one that orders the updates": func(_, leader *machine) *machine { return leader },
	} {
		t.Run(name, func(t *testing.T) {
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
						return store.Steps{}, nil
					})
					ended <- err
				}()
				<-begun
				dead := victim(holder, leader)
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
				dead.kill()
				if dead == holder {
					require.NoError(t, <-transferred)
					close(resume)
					<-ended // with whatever error
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
