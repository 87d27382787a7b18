// A model of many assigners of one slot: machines that own it one after the other, fail, restart
// and are late.

package uid

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// modelRow is UIDs on their way into the store, or in it.
type modelRow struct {
	host string
	run  Run
}

// modelLife is one incarnation of a process. When it ends, its numbers of a slot are lost. Its
// grants are recorded by the giver.
type modelLife struct {
	grants    []Grant
	allocator *Allocator // nil until it is the owner
	inFlight  []modelRow // written, neither landed nor failed
}

type model struct {
	random *rand.Rand
	given  int // grants
	lives  []*modelLife
	owner  int
	// lost are the writes of ended incarnations. They may land late.
	lost   []modelRow
	stored []modelRow
	taken  []modelRow // every UID ever given out, landed or not
}

func (m *model) grant(t *testing.T, life *modelLife) {
	g, err := NextGrant(m.given)
	require.NoError(t, err)
	m.given++
	life.grants = append(life.grants, g)
	if life.allocator != nil {
		require.NoError(t, life.allocator.Grant(g))
	}
}

// load plays a new owner: it reads the stored rows.
func (m *model) load(t *testing.T, life *modelLife) {
	life.allocator = NewAllocator(11, life.grants...)
	for _, i := range m.random.Perm(len(m.stored)) {
		row := m.stored[i]
		require.NoError(t, life.allocator.Restore(row.host, row.run.First+UID(row.run.Count)-1))
	}
}

func (m *model) assign(t *testing.T) {
	life := m.lives[m.owner]
	if life.allocator == nil {
		m.load(t, life)
	}
	host := fmt.Sprint("h", m.random.IntN(150))
	count := 1 + m.random.Uint64N(1<<m.random.IntN(31))
	runs, err := life.allocator.Assign(host, count)
	for errors.Is(err, ErrNeedGrant) {
		m.grant(t, life)
		runs, err = life.allocator.Assign(host, count)
	}
	require.NoError(t, err)
	for _, run := range runs {
		life.inFlight = append(life.inFlight, modelRow{host, run})
		m.taken = append(m.taken, modelRow{host, run})
	}
}

// land moves one row to the stored ones, or drops it because its write failed.
func (m *model) land(rows []modelRow) []modelRow {
	if len(rows) == 0 {
		return rows
	}
	i := m.random.IntN(len(rows))
	if m.random.IntN(5) > 0 {
		m.stored = append(m.stored, rows[i])
	}
	return slices.Delete(rows, i, i+1)
}

// restart ends an incarnation and begins the next of the same machine. The machine keeps its
// grants if all of its writes have landed or failed.
func (m *model) restart(machine int) {
	old, next := m.lives[machine], &modelLife{}
	if len(old.inFlight) == 0 {
		next.grants = old.grants
	}
	m.lost = append(m.lost, old.inFlight...)
	m.lives[machine] = next
}

func (m *model) step(t *testing.T) {
	switch machine := m.random.IntN(len(m.lives)); m.random.IntN(12) {
	case 0:
		m.owner = machine // with all that it remembers of the time before
	case 1:
		m.restart(machine)
	case 2:
		m.lost = m.land(m.lost)
	case 3, 4, 5, 6:
		life := m.lives[machine]
		life.inFlight = m.land(life.inFlight)
	case 7:
		for life := m.lives[machine]; len(life.inFlight) > 0; {
			life.inFlight = m.land(life.inFlight)
		}
	default:
		m.assign(t)
	}
}

// twice returns two runs with a common UID, if there are any. Only rows count that are stored or
// may be stored yet, because UIDs of a failed write may be assigned again, by an incarnation
// restored without them.
func twice(rows []modelRow) (a, b modelRow, found bool) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b modelRow) int {
		if a.run.First < b.run.First {
			return -1
		}
		return 1
	})
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1], rows[i]; a.run.First+UID(a.run.Count) > b.run.First {
			return a, b, true
		}
	}
	return a, b, false
}

func TestNoUIDTwice(t *testing.T) {
	r := random(t)
	for round := range 60 {
		m := &model{random: r}
		for range 1 + r.IntN(5) {
			m.lives = append(m.lives, &modelLife{})
		}
		for step := range 500 {
			m.step(t)
			if step%100 != 99 {
				continue
			}
			all := slices.Concat(m.stored, m.lost)
			for _, life := range m.lives {
				all = append(all, life.inFlight...)
			}
			if a, b, found := twice(all); found {
				t.Fatalf("round %d, step %d: %v and %v", round, step, a, b)
			}
		}
		hosts := map[Extent]string{}
		for _, row := range m.stored {
			e := row.run.First.Extent()
			if other, known := hosts[e]; known && other != row.host {
				t.Fatalf("round %d: extent %d is of hosts %s and %s", round, e, other, row.host)
			}
			hosts[e] = row.host
		}
		if len(m.taken) < 100 || len(hosts) < 20 {
			t.Fatalf("round %d: only %d runs and %d extents", round, len(m.taken), len(hosts))
		}
	}
}
