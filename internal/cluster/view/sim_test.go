// A simulation of a cluster that follows plans.

package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// sim is a cluster reduced to the facts of views: machines hold sample triples, adopt views,
// backfill, sweep, die and come back with all or a part of their rows. A leader calls Plan. No
// triple is written or deleted in it, because only one rule is tested: each must stay where the
// view places it.
type sim struct {
	t       *testing.T
	random  *rand.Rand
	v       *View
	nodes   map[trie.MachineID]*simNode
	wishes  Wishes
	keys    [][]byte
	history []string
	steps   map[string]int
}

type simNode struct {
	id       trie.MachineID
	inc      uint64
	up       bool
	epoch    uint64 // adopted
	lease    bool
	mayHold  bool // as the leader knows
	suspect  bool
	stalled  bool
	shows    bool // its disk has all that it had
	hides    bool // that it has not is seen when all are there
	spare    bool
	was      bool // a member at some time
	walked   bool
	swept    bool
	settled  bool
	splits   []SplitAt
	rows     map[int]map[recovery.Place]bool // by sample
	reported Report
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, random: rand.New(rand.NewPCG(seed, 0)), nodes: map[trie.MachineID]*simNode{}, steps: map[string]int{}}
	for i := range 40 {
		key, _ := triple.AppendKey(nil, triple.SPO, sampleTriple(s.random, i))
		s.keys = append(s.keys, key)
	}
	first := s.newNode(false)
	l := simLayout(t, first.id)
	first.epoch, first.lease, first.was = 1, true, true
	s.v = First("test", "id", first.member(), l, 1)
	r := s.v.Joint().Resolver()
	for i, key := range s.keys {
		require.NoError(t, r.Resolve(key))
		first.rows[i] = map[recovery.Place]bool{}
		for _, slot := range r.Base() {
			first.rows[i][slot] = true
		}
	}
	return s
}

func sampleTriple(random *rand.Rand, i int) triple.Triple {
	t := triple.Triple{
		Subject:   triple.NewIRI(fmt.Sprintf("http://a/s%d", random.IntN(1000))),
		Predicate: triple.NewIRI(fmt.Sprintf("http://a/p%d", random.IntN(5))),
		Object:    triple.NewString(fmt.Sprint(i)),
	}
	if i%5 == 0 {
		t.Graph = triple.NewIRI("http://a/g")
	}
	return t
}

func simLayout(t testing.TB, id trie.MachineID) recovery.Layout {
	p, err := trie.NewPlacement([]trie.MachineID{id}, trie.PlacementOptions{Partitions: 60})
	require.NoError(t, err)
	return recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, 60)), Placement: p, Copies: recovery.DefaultCopies}
}

func (s *sim) newNode(spare bool) *simNode {
	n := &simNode{id: trie.MachineID(s.random.Uint64() | 1), inc: 1, up: true, shows: true, spare: spare, rows: map[int]map[recovery.Place]bool{}}
	s.nodes[n.id] = n
	return n
}

func (n *simNode) member() Member {
	m := Member{ID: n.id, Incarnation: n.inc, Address: n.id.String() + ":1", State: Up}
	if n.spare {
		m.State = Spare
	}
	return m
}

// current reports whether a node, as it runs, is a member that has the newest view.
func (s *sim) current(n *simNode) bool {
	return n.up && s.v.Has(n.id, n.inc) && n.epoch == s.v.Epoch
}

func (s *sim) sorted() []*simNode {
	var nodes []*simNode
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		nodes = append(nodes, s.nodes[id])
	}
	return nodes
}

func (s *sim) note(format string, args ...any) {
	s.history = append(s.history, fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) {
	s.t.Helper()
	for _, line := range s.history[max(0, len(s.history)-60):] {
		s.t.Log(line)
	}
	s.t.Fatalf(format, args...)
}

// act lets one thing happen to one node.
func (s *sim) act() {
	nodes := s.sorted()
	n := nodes[s.random.IntN(len(nodes))]
	switch s.random.IntN(60) {
	case 0:
		if n.up {
			s.note("%s dies", n.id)
			n.up, n.lease = false, false
		}
	case 1, 2, 3:
		s.restart(n)
	case 4:
		n.suspect = !n.suspect
	case 5, 6:
		n.suspect = !n.up
	case 7:
		if !s.current(n) || !n.lease {
			n.lease, n.mayHold = false, false
		}
	case 8, 9:
		s.askJoin(n)
	case 10:
		if len(nodes) < 9 {
			n = s.newNode(s.random.IntN(4) == 0)
			s.note("%s is new, spare: %v", n.id, n.spare)
			s.askJoin(n)
		}
	case 11:
		if s.random.IntN(4) == 0 {
			s.wishes.Leave = append(s.wishes.Leave, n.id)
		}
	case 12:
		if s.random.IntN(8) == 0 || !n.up {
			s.wishes.Remove = append(s.wishes.Remove, n.id)
		}
	case 13:
		at := slices.Clone(s.keys[s.random.IntN(len(s.keys))])
		n.splits = append(n.splits, SplitAt{s.v.Base.Trie.Lookup(at).ID, at[:1+s.random.IntN(len(at)-1)]})
	case 14:
		n.stalled = !n.stalled && s.random.IntN(4) == 0
		if n.stalled {
			n.lease = false
		}
	case 15:
		if s.random.IntN(10) == 0 {
			s.note("another leader")
			for _, o := range nodes {
				o.reported, o.mayHold = Report{}, true
			}
		}
	case 16:
		if s.random.IntN(3) == 0 {
			s.wishes.Copies = recovery.MinCopies + s.random.IntN(recovery.MaxCopies-recovery.MinCopies+1)
		}
	default:
		s.work(n)
	}
}

// restart starts a node's process, which has all of its disk, or not.
func (s *sim) restart(n *simNode) {
	if n.up {
		return
	}
	n.up, n.epoch = true, 0
	n.inc++
	if s.random.IntN(5) == 0 && s.mayLoseDisk() {
		s.note("%s lost a part of its disk", n.id)
		n.shows, n.hides = false, s.random.IntN(2) == 0
		for i := range n.rows {
			if s.random.IntN(2) == 0 {
				delete(n.rows, i)
			}
		}
	}
	s.note("%s starts as %d", n.id, n.inc)
}

// mayLoseDisk reports whether most members would still have their disks. If they would not, an
// operator must decide.
func (s *sim) mayLoseDisk() bool {
	bad := 0
	for _, m := range s.v.Members {
		if !s.nodes[m.ID].shows {
			bad++
		}
	}
	return 2*(bad+1) < len(s.v.Members)
}

// askJoin makes a machine ask to join if it is no member; its rows are set aside.
func (s *sim) askJoin(n *simNode) {
	if !n.up || s.v.Find(n.id) != nil {
		return
	}
	if n.was {
		n.inc++
		n.rows, n.shows, n.was, n.epoch, n.lease = map[int]map[recovery.Place]bool{}, true, false, 0, false
	}
	s.wishes.Join = slices.DeleteFunc(s.wishes.Join, func(m Member) bool { return m.ID == n.id })
	s.wishes.Join = append(s.wishes.Join, n.member())
}

// work lets a member do what the view asks of it.
func (s *sim) work(n *simNode) {
	if !n.up || !s.v.Has(n.id, n.inc) {
		return
	}
	if n.epoch != s.v.Epoch {
		n.epoch, n.was, n.walked, n.swept, n.settled, n.splits = s.v.Epoch, true, false, false, false, nil
		n.lease = !s.v.Find(n.id).Waits && !n.stalled
		n.mayHold = n.mayHold || n.lease
		return
	}
	if !n.lease && !s.v.Find(n.id).Waits && !n.stalled {
		n.lease, n.mayHold = true, true
	}
	n.settled = true
	switch s.v.Phase {
	case recovery.Fill:
		s.walk(n)
	case recovery.Idle:
		r := s.v.Joint().Resolver()
		for i := range n.rows {
			_ = r.Resolve(s.keys[i])
			maps.DeleteFunc(n.rows[i], func(slot recovery.Place, _ bool) bool { return !slices.Contains(r.Target(), slot) })
		}
		n.swept = true
	}
}

// walk sends the rows n owes; it is done only if all receivers are there.
func (s *sim) walk(n *simNode) {
	r := s.v.Joint().Resolver()
	done := true
	for i, key := range s.keys {
		if len(n.rows[i]) == 0 {
			continue
		}
		_ = r.Resolve(key)
		for _, slot := range r.OwedPlaces(n.id) {
			to := s.nodes[slot.Machine]
			if !s.current(to) || to.stalled {
				done = false
				continue
			}
			if to.rows[i] == nil {
				to.rows[i] = map[recovery.Place]bool{}
			}
			to.rows[i][slot] = true
		}
	}
	n.walked = done
}

// reports are the last report of each member at the leader. A loss on a disk may be seen only
// when all have reported in the newest epoch.
func (s *sim) reports() map[trie.MachineID]Report {
	reports, all := map[trie.MachineID]Report{}, true
	for _, m := range s.v.Members {
		n := s.nodes[m.ID]
		if n.up {
			n.reported = Report{
				Incarnation: n.inc, Address: n.member().Address, Epoch: n.epoch, Splits: n.splits, Mark: s.v.Epoch,
				Walked: n.walked, Swept: n.swept, Reconciled: n.settled, Room: 1 << 40,
			}
			for _, m := range s.v.Members {
				if s.nodes[m.ID].stalled {
					n.reported.Accuses = append(n.reported.Accuses, m.ID)
				}
			}
		}
		r := n.reported
		r.MayHoldLease, r.Suspect = n.mayHold, n.suspect
		reports[m.ID] = r
		all = all && r.Incarnation == m.Incarnation && r.Epoch == s.v.Epoch && r.Reconciled
	}
	for id, r := range reports {
		n := s.nodes[id]
		r.DiskShows = r.Incarnation != 0 && (n.shows || n.hides && !all)
		reports[id] = r
	}
	return reports
}

// lead asks Plan once, where most members run, and makes its view the newest.
func (s *sim) lead() (proposed bool, wait string) {
	up, self := 0, trie.MachineID(0)
	for _, m := range s.v.Members {
		if s.nodes[m.ID].up {
			up, self = up+1, m.ID
		}
	}
	if 2*up <= len(s.v.Members) {
		return false, "no majority"
	}
	s.wishes.Join = slices.DeleteFunc(s.wishes.Join, func(m Member) bool { return s.v.Find(m.ID) != nil || s.nodes[m.ID].inc != m.Incarnation })
	gone := func(id trie.MachineID) bool { return s.v.Find(id) == nil }
	s.wishes.Remove = slices.DeleteFunc(s.wishes.Remove, gone)
	s.wishes.Leave = slices.DeleteFunc(s.wishes.Leave, gone)
	reports := s.reports()
	next, reason, wait := Plan(s.v, reports, s.wishes, PlanOptions{Self: self})
	if next == nil {
		return false, wait
	}
	s.note("epoch %d, %s: %s", next.Epoch, next.Phase, reason)
	s.steps[next.Phase.String()]++
	s.checkStep(next, reports)
	s.v = next
	s.checkView()
	return true, ""
}
