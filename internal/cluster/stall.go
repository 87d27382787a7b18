// A leader with a blocked disk.

package cluster

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/trie"
)

// This file is about a leader with a blocked disk. Members do not suspect a leader if it is
// heard, and Raft's heartbeats need no disk. So it must make way itself.

// stall is how long this machine's disk has kept a write waiting.
type stall struct {
	mu      sync.Mutex
	waiting bool
	since   time.Duration // when the first unfinished write began
	gaveWay bool          // to another leader
}

// noteWay notes whether this machine makes way, and reports whether it did otherwise.
func (s *stall) noteWay(gives bool) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.gaveWay != gives
	s.gaveWay = gives
	return changed
}

func (s *stall) begin(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting {
		s.waiting, s.since = true, now
	}
}

func (s *stall) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
}

// stands returns the begin of the first unfinished write; ok is true if it is more than atMost
// ago.
func (s *stall) stands(now, atMost time.Duration) (since time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, s.waiting && now-s.since > atMost
}

func (s *stall) givesWay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gaveWay
}

// waitsForDisk is why a leader waits if its disk is blocked.
const waitsForDisk = "another leader: the disk of this machine stands still"

// makeWay silences a leader if its disk has written nothing for FailureTimeout and the others can
// elect another one. The other one then excludes it. It must not call Raft, because Raft may
// itself wait for the disk. The leader stays silent until the disk writes again.
func (n *Node) makeWay(ag *agreement.Agreement) (silent bool) {
	since, stands := n.disk.stands(n.cfg.Clock.Now(), n.cfg.FailureTimeout)
	if stands && !n.disk.givesWay() {
		voters, _ := ag.Configuration()
		stands = n.grants.othersSuffice(n.self, voters, since-n.cfg.Lease)
	}
	if n.disk.noteWay(stands) {
		n.log.Warn("whether the disk stands still has changed", "another machine is to lead", stands, "since", since)
	}
	ag.Silence(stands || n.standsBack())
	return stands
}

// othersSuffice reports whether a majority of the voters are other machines and have reported
// since a moment, because then their disks write.
func (g *grants) othersSuffice(self trie.MachineID, voters map[trie.MachineID]string, since time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	well := 0
	for id := range voters {
		if h, ok := g.heard[id]; ok && id != self && h.at >= since && g.term != 0 {
			well++
		}
	}
	return 2*well > len(voters)
}
