// Changes of members, and the traffic that they cause.

package main

import (
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// load is what each machine has to do with something, by machine.
type load map[trie.MachineID]int64

func (l load) total() (n int64) {
	for _, v := range l {
		n += v
	}
	return n
}

// spread returns the greatest share of one of so many machines as a multiple of
// the mean.
func (l load) spread(machines int) float64 {
	most := int64(0)
	for _, v := range l {
		most = max(most, v)
	}
	if total := l.total(); total > 0 {
		return float64(most) * float64(machines) / float64(total)
	}
	return 0
}

// balance is how the slots of a sample spread under a layout.
type balance struct {
	versions, extras load
}

func (s *sample) balance(l recovery.Layout) (b balance, err error) {
	b = balance{load{}, load{}}
	for _, key := range s.keys {
		slots, err := l.Places(key)
		if err != nil {
			return b, err
		}
		for _, slot := range slots {
			if slot.Extra {
				b.extras[slot.Machine]++
			} else {
				b.versions[slot.Machine]++
			}
		}
	}
	return b, nil
}

// traffic is what the walks of a change send: rows, by who sends and by who gets
// them. What a machine makes of its own rows is local.
type traffic struct {
	sent, received, local load
}

// change computes the traffic of going from one placement to another; dead
// machines of base send nothing.
func (s *sample) change(base, target recovery.Layout, dead ...trie.MachineID) (t traffic, err error) {
	t = traffic{load{}, load{}, load{}}
	j := jointOf(base, target, dead)
	r := j.Resolver()
	for _, key := range s.keys {
		if err := r.Resolve(key); err != nil {
			return t, err
		}
		var seen trie.Ring
		for _, holder := range r.Base() {
			if seen.Contains(holder.Machine) {
				continue
			}
			seen = trie.NewRing(append(seen, holder.Machine)...)
			for _, slot := range r.OwedPlaces(holder.Machine) {
				if slot.Machine == holder.Machine {
					t.local[slot.Machine]++
					continue
				}
				t.sent[holder.Machine]++
				t.received[slot.Machine]++
			}
		}
	}
	return t, nil
}

// jointOf returns the view in which a cluster goes from one placement to another.
func jointOf(base, target recovery.Layout, dead []trie.MachineID) *recovery.Joint {
	j := &recovery.Joint{Base: base, Target: target, Phase: recovery.Fill}
	j.Members = target.Placement.Machines()
	gone := trie.NewRing(dead...)
	for _, m := range base.Placement.Machines() {
		if !gone.Contains(m) {
			j.BaseLive = append(j.BaseLive, m)
		}
	}
	return j
}
