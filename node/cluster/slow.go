package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// This file is what the leader does about members that hold the others up, or have no
// room; see view.Slow.

// slowAfter is how long a holder may owe an answer. One that is dead, or whose disk
// stands still, is excluded long before; this is for one that tells the leader that it
// is well, and does not answer another.
func (c *Config) slowAfter() time.Duration { return 5 * c.Lease }

// slowRest is how long after one was excluded for that no other one is, and it is not
// let in again: copies would be made for nothing if it was not the machine.
func (c *Config) slowRest() time.Duration { return 30 * c.slowAfter() }

// stuckAfter is how long a member that is heard may be without a further view. To adopt
// one takes no time but for what is being written, and for linking the tables of a load.
func (c *Config) stuckAfter() time.Duration { return 60 * c.Lease }

// behind is the epoch of a member that has not adopted the newest view, and since when
// it has said so.
type behind struct {
	epoch uint64
	since time.Duration
}

// stuck reports whether a member that says to be in an epoch has been there for too long
// while there is a newer one. The lock is held.
func (g *grants) stuck(id trie.MachineID, epoch, newest uint64, now, atMost time.Duration) bool {
	if epoch >= newest {
		delete(g.behind, id)
		return false
	}
	b, ok := g.behind[id]
	if !ok || b.epoch != epoch {
		g.behind[id] = behind{epoch, now}
		return false
	}
	return now-b.since > atMost
}

// waitsToAdopt is what a leader waits for that does not adopt the newest view itself.
const waitsToAdopt = "another leader: this machine does not adopt the newest view"

// waitsToHandOn is what a leader waits for that is too slow itself.
const waitsToHandOn = "another leader: the others wait for this machine to answer"

// tolerant reports whether a member was excluded lately for being slow. The lock is held.
func (g *grants) tolerant(now, rest time.Duration) bool {
	for _, at := range g.slow {
		if now < at+rest {
			return true
		}
	}
	return false
}

// rested returns the machines that may join, and in words which have to wait. The lock
// is held.
func (g *grants) rested(join []view.Member, now, rest time.Duration) (in []view.Member, resting string) {
	var all []string
	for _, m := range join {
		at, slow := g.slow[m.Address]
		if !slow || now >= at+rest {
			in = append(in, m)
			continue
		}
		all = append(all, fmt.Sprintf("machine %s at %s may join in %s: it was excluded because others waited for it",
			m.ID, m.Address, (at+rest-now).Round(time.Second)))
	}
	return in, strings.Join(all, "; ")
}

// excludedSlow notes that the one which is slow, or stuck, is no member of the next view. The lock is held.
func (g *grants) excludedSlow(v, next *view.View, stuck trie.MachineID, now time.Duration) {
	for _, id := range []trie.MachineID{g.denied, stuck} {
		if m := v.Find(id); m != nil && next.Find(m.ID) == nil {
			g.slow[m.Address] = now
		}
	}
}

// waiters returns how many members say that they wait for one for too long. The lock
// is held.
func (g *grants) waiters(id trie.MachineID) (n int) {
	for _, h := range g.heard {
		for _, slow := range h.report.Slow {
			if slow == id {
				n++
			}
		}
	}
	return n
}

// rooms returns the members whose disks have not enough room for everything.
func (g *grants) rooms(v *view.View) map[trie.MachineID]node.Room {
	g.mu.Lock()
	defer g.mu.Unlock()
	var rooms map[trie.MachineID]node.Room
	for id := range g.short {
		if v.Find(id) == nil {
			continue
		}
		if rooms == nil {
			rooms = map[trie.MachineID]node.Room{}
		}
		rooms[id] = g.heard[id].report.Store.Room
	}
	return rooms
}
