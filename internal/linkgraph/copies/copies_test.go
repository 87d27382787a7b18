// Tests of copies against a model of a cluster, in random courses of events.

package copies

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// TestAnswers makes machines write, die, restart, join and leave, move ranges, ingest bulk
// loads and forget their journals, in any order. It looks up all lists all the time: an answer
// must have what was acknowledged before.
func TestAnswers(t *testing.T) {
	random := seeded(t)
	rounds := 5
	var answered, refused, known, walked int
	for range rounds {
		seed := random.Uint64()
		bubble.Test(t, func(t *testing.T) {
			r := &run{world: newWorld(t, rand.New(rand.NewPCG(seed, 1)), 1+rand.New(rand.NewPCG(seed, 2)).IntN(7))}
			r.all(t)
			answered, refused, known, walked = answered+r.answered, refused+r.refused, known+r.known, walked+r.walked
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d calls answered, of %d lists; %d refused; %d parts of ranges were gone through", answered, known, refused, walked)
	if answered < refused/4 || known < answered || walked < answered {
		t.Error("hardly anything is answered")
	}
}

// run is one course of events.
type run struct {
	*world
	log                      []string
	keepers                  []*keeper
	answered, refused, known int
	walked                   int // parts
}

func (r *run) all(t *testing.T) {
	for i := range min(2, len(r.view.Members)) {
		r.keepers = append(r.keepers, r.keeper(r.view.Members[i].ID))
	}
	defer func() {
		for _, k := range r.keepers {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	r.most = []int{1, 3, 10, 1000}[r.random.IntN(4)]
	for range 120 {
		synctest.Wait()
		r.step()
		for _, k := range r.keepers {
			synctest.Wait() // a look-up must not wait for more journals than it needs
			n, err := k.check(r.random.IntN(2) == 0)
			if err == nil {
				synctest.Wait()
				var walked int
				walked, err = k.checkWalks()
				r.walked += walked
			}
			switch {
			case errors.Is(err, errWrong):
				for _, line := range r.log {
					t.Log(line)
				}
				t.Error(err)
				return
			case err != nil:
				r.refused++
			default:
				r.answered++
				r.known += n
			}
		}
	}
}

// victim returns a machine that may die or restart.
func (r *run) victim() *machine {
	var some []*machine
	for i := range r.view.Members {
		id := r.view.Members[i].ID
		kept := slices.ContainsFunc(r.keepers, func(k *keeper) bool { return k.member.id == id })
		if m := r.machines[id]; m.up && !kept {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[r.random.IntN(len(some))]
}

func (r *run) step() {
	epoch := r.view.Epoch
	// Journals are read while machines write and views change.
	r.journalRead = nil
	if r.random.IntN(3) == 0 {
		r.journalRead = func() {
			if r.random.IntN(4) == 0 {
				r.write()
			} else if r.random.IntN(40) == 0 {
				r.advance()
			}
		}
	}
	kind := r.random.IntN(14)
	defer func() {
		r.log = append(r.log, fmt.Sprintf("step %d: epoch %d, %v, %d members, dead %v", kind, r.view.Epoch, r.view.Phase, len(r.view.Members), r.dead()))
	}()
	switch kind {
	case 0, 1, 2:
		for range 1 + r.random.IntN(5) {
			r.write()
		}
	case 3, 4, 5, 6:
		for _, k := range r.keepers {
			_ = k.refresh() // it may fail
		}
	case 7:
		few := min(3, len(r.view.Base.Placement.Machines()))
		if m := r.victim(); m != nil && r.lost() < few-1 {
			m.up = false
		}
	case 8:
		if m := r.victim(); m != nil && r.view.Phase != recovery.Ingest {
			r.restart(m)
		}
	case 9:
		r.exclude()
	case 10:
		r.advance()
	case 11:
		r.move()
	case 12:
		if r.view.Phase != recovery.Ingest {
			r.ingest()
		}
		for i := range r.view.Members {
			if r.random.IntN(2) == 0 {
				r.takeIn(r.view.Members[i].ID)
			}
		}
	case 13:
		switch m := r.victim(); {
		case r.random.IntN(2) == 0:
			time.Sleep(keptTime / 2) // of virtual time
		case m != nil && len(m.journal) > 0:
			m.forget(1 + r.random.IntN(len(m.journal)))
		}
	}
	if r.view.Epoch != epoch {
		r.told()
	}
}

// told shows every view to the keepers of copies.
func (r *run) told() {
	for _, k := range r.keepers {
		k.follow(r.view)
	}
}

// move moves ranges: a machine joins, or leaves for good, or only its ranges move.
func (r *run) move() {
	if r.view.Phase == recovery.Ingest || len(r.dead()) > 0 {
		return
	}
	m := r.victim()
	switch kind := r.random.IntN(3); {
	case kind == 0 && len(r.view.Members) < 8:
		r.next(r.view.Join(r.machine()))
	case kind == 1 && m != nil && r.view.Find(m.id).State != "leaving" && len(r.view.Members) > 3:
		r.next(r.view.Leave(m.id))
	case r.view.Phase == recovery.Idle:
		for _, one := range slices.Clone(r.view.Members) {
			if one.State == "leaving" {
				if v, err := r.view.Remove(one.ID); err == nil {
					r.next(v, nil)
				}
				return
			}
		}
		var up []trie.MachineID
		for _, one := range r.view.Members {
			up = append(up, one.ID)
		}
		p, err := trie.NewPlacement(up, trie.PlacementOptions{Partitions: modelPartitions})
		if err == nil {
			r.next(r.view.MoveTo(p))
		}
	}
}
