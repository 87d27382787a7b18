// Members which hold the others up, by the leader's count.

package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// This file is the leader's part in excluding members if they hold the others up or have no room;
// see view.Slow.

// SlowAfter is how long a holder may owe an answer. A dead holder, or one with a blocked disk, is
// excluded long before. This limit is for a holder which reports to the leader and does not
// answer another member.
func SlowAfter(lease time.Duration) time.Duration { return 5 * lease }

// slowRest is the time between two such exclusions, and the time before the excluded machine may
// return. Copies would be made for nothing if the machine was not the cause.
func slowRest(lease time.Duration) time.Duration { return 30 * SlowAfter(lease) }

// stuckAfter is how long a reporting member may adopt no newer view. To adopt takes no time,
// except for writes under way and for linking the tables of a load.
func stuckAfter(lease time.Duration) time.Duration { return 60 * lease }

// lag is the epoch of a member which has not adopted the newest view, and since when it
// reports it.
type lag struct {
	epoch uint64
	since time.Duration
}

// stuck reports whether a member has reported the same epoch for too long while there is a newer
// one. The lock must be held.
func (g *grants) stuck(id trie.MachineID, epoch, newest uint64, now, atMost time.Duration) bool {
	if epoch >= newest {
		delete(g.lagging, id)
		return false
	}
	b, ok := g.lagging[id]
	if !ok || b.epoch != epoch {
		g.lagging[id] = lag{epoch, now}
		return false
	}
	return now-b.since > atMost
}

// waitsToAdopt is why a leader waits if it does not adopt the newest view itself.
const waitsToAdopt = "another leader: this machine does not adopt the newest view"

// waitsToHandOn is why a leader waits if it is too slow itself.
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

// afterRest returns the machines which may join, and a text about those which must wait. The lock
// must be held.
func (g *grants) afterRest(join []view.Member, now, rest time.Duration) (in []view.Member, resting string) {
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

// mustRest returns why a machine must not join yet if it was excluded because others waited for it, or "".
// The text does not change while the machine must wait, because a machine logs each new text.
func (g *grants) mustRest(m view.Member, now, rest time.Duration) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in, _ := g.afterRest([]view.Member{m}, now, rest); len(in) > 0 {
		return ""
	}
	return fmt.Sprintf("a machine at %s was excluded because others waited for it, so it may join %s after that; if its disk or its network is slow, mend that",
		m.Address, rest.Round(time.Second))
}

// recordSlow records the time if the next view lacks the slow or the stuck member. The lock
// must be held.
func (g *grants) recordSlow(v, next *view.View, stuck trie.MachineID, now time.Duration) {
	for _, id := range []trie.MachineID{g.slowest, stuck} {
		if m := v.Find(id); m != nil && next.Find(m.ID) == nil {
			g.slow[m.Address] = now
		}
	}
}

// accusers returns how many members report a machine as too slow. The lock must be held.
func (g *grants) accusers(id trie.MachineID) (n int) {
	for _, h := range g.reports {
		for _, slow := range h.report.Slow {
			if slow == id {
				n++
			}
		}
	}
	return n
}

// fullDisks returns the members whose disks lack room.
func (g *grants) fullDisks(v *view.View) map[trie.MachineID]store.Room {
	g.mu.Lock()
	defer g.mu.Unlock()
	var rooms map[trie.MachineID]store.Room
	for id := range g.short {
		if v.Find(id) == nil {
			continue
		}
		if rooms == nil {
			rooms = map[trie.MachineID]store.Room{}
		}
		rooms[id] = g.reports[id].report.Store.Room
	}
	return rooms
}
