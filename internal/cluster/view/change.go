// The parts that all changes of a view share.

package view

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// First returns the view of a cluster of one, which is idle and has all it needs
// where l says.
func First(cluster, clusterID string, m Member, l recovery.Layout, epoch uint64) *View {
	m.State, m.Waits = Up, false
	l.Copies = cmp.Or(l.Copies, recovery.DefaultCopies)
	v := &View{
		Cluster: cluster, ClusterID: clusterID, Generation: 1, Epoch: epoch,
		Phase: recovery.Idle, Members: []Member{m}, Base: l, Target: l,
		BaseIncarnations: map[trie.MachineID]uint64{m.ID: m.Incarnation},
	}
	for s := range l.Trie.All() {
		v.NextSegment = max(v.NextSegment, s.ID+1)
	}
	v.raiseMinor()
	v.updateFeed()
	v.prepare()
	return v
}

// errIngest is returned by what must not come between a load and its publication.
var errIngest = errors.New("view: a bulk load is being published: wait until it is shown")

// next returns a copy of the next epoch, whose members may be changed.
func (v *View) next() *View {
	n := *v
	n.encoded, n.decoded = nil, nil
	n.Epoch++
	n.History = v.extendHistory()
	n.Members = slices.Clone(v.Members)
	n.BaseIncarnations = maps.Clone(v.BaseIncarnations)
	n.Lost = slices.Clip(v.Lost)
	n.Feed = v.Feed.clone()
	return &n
}

// finish ends a change. It returns the new view if that is valid, else an error.
func (v *View) finish() (*View, error) {
	v.forgetReturned()
	v.updateFeed()
	v.prepare()
	if err := v.Validate(); err != nil {
		return nil, err
	}
	return v, nil
}

// raiseMinor sets the view's minor to the least minor of its members if it is greater. It grows
// when a machine starts or joins. If the last machine of an older release is lost, the minor does
// not grow, because the machine may come back.
func (v *View) raiseMinor() {
	if len(v.Members) == 0 {
		return
	}
	least := slices.MinFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.Minor, b.Minor) })
	v.Minor = max(v.Minor, least.Minor)
	v.beginFeed()
}

// member returns the member with an ID, for a change of it.
func (v *View) member(id trie.MachineID) (*Member, error) {
	if m := v.Find(id); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("view: machine %s is not a member", id)
}

// startFill makes base the layout that is known to be full, and phase fill: a new
// target is going to be set.
func (v *View) startFill() {
	if v.Phase == recovery.Serve {
		v.targetIsBase()
	}
	v.Phase = recovery.Fill
}

func (v *View) targetIsBase() {
	v.Base = v.Target
	v.BaseIncarnations = map[trie.MachineID]uint64{}
	for _, m := range v.Members {
		if v.Base.Placement.Machines().Contains(m.ID) {
			v.BaseIncarnations[m.ID] = m.Incarnation
		}
	}
}

// plannedTarget is the target of a planned change: the members in state up, and all segments at
// their proper places.
func (v *View) plannedTarget() error {
	p, err := v.placement()
	if err != nil {
		return err
	}
	segments, err := hashed(v.Target.Trie, p)
	if err != nil {
		return err
	}
	v.Target = recovery.Layout{Trie: segments, Placement: p, Copies: v.Target.Copies}
	return nil
}

// placement adapts target's placement to the members in state up, with as few moves as possible.
func (v *View) placement() (*trie.Placement, error) {
	var up []trie.MachineID
	for i := range v.Members {
		if m := &v.Members[i]; m.State == Up {
			up = append(up, m.ID)
		}
	}
	return v.Target.Placement.Adapt(up, trie.PlacementOptions{})
}

// Join makes machines members. If a machine is no spare, it gets its part of the data by a new
// target. The base stays, or it is the target before if that serves already. A spare changes
// nothing for the others. Waits and Mark of a Member are ignored; an empty State is [Up].
func (v *View) Join(ms ...Member) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n, grows := v.next(), false
	for _, m := range ms {
		if n.Find(m.ID) != nil {
			return nil, fmt.Errorf("view: machine %s is a member", m.ID)
		}
		m.Waits, m.Mark = false, 0
		if m.State != Spare {
			m.State, grows = Up, true
		}
		at, _ := slices.BinarySearchFunc(n.Members, m.ID, compareID)
		n.Members = slices.Insert(n.Members, at, m)
	}
	n.raiseMinor()
	if !grows {
		return n.finish()
	}
	n.startFill()
	if err := n.plannedTarget(); err != nil {
		return nil, err
	}
	return n.finish()
}

// Leave moves the data of members that are up elsewhere. One at least must stay.
// They are members until [View.Remove].
func (v *View) Leave(ids ...trie.MachineID) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n := v.next()
	for _, id := range ids {
		m, err := n.member(id)
		if err != nil {
			return nil, err
		}
		if m.State != Up {
			return nil, fmt.Errorf("view: machine %s holds nothing that it could leave to others: it is %s", id, m.State)
		}
		m.State = Leaving
	}
	if !n.hasUp() {
		return nil, errors.New("view: the last machine that holds data cannot leave")
	}
	n.startFill()
	if err := n.plannedTarget(); err != nil {
		return nil, err
	}
	return n.finish()
}

// Remove takes members away that hold nothing: they are in neither layout.
func (v *View) Remove(ids ...trie.MachineID) (*View, error) {
	n := v.next()
	for _, id := range ids {
		if _, err := n.member(id); err != nil {
			return nil, err
		}
		if v.holds(id) {
			return nil, fmt.Errorf("view: machine %s still has data that counts", id)
		}
		n.drop(id)
	}
	return n.finish()
}

// SetLease changes the longest lease. A shorter one must not be agreed on before all
// longer ones are over.
func (v *View) SetLease(lease time.Duration) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n := v.next()
	n.Lease = lease
	return n.finish()
}

// MoveTo makes the target a given placement, on members that are up.
func (v *View) MoveTo(p *trie.Placement) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n := v.next()
	n.startFill()
	n.Target.Placement = p
	return n.finish()
}

// holds reports whether a machine is in one of the layouts.
func (v *View) holds(id trie.MachineID) bool {
	return v.Base.Placement.Machines().Contains(id) || v.Target.Placement.Machines().Contains(id)
}

func (v *View) hasUp() bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.State == Up })
}

func (v *View) drop(id trie.MachineID) {
	v.depart(id)
	v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.ID == id })
}
