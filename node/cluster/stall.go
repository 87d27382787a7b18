package cluster

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/trie"
)

// This file is about a leader whose own disk stands still. Nobody suspects a leader
// that is heard, and Raft's heartbeats need no disk, so it has to make way itself.

// stall is how long this machine's disk has kept a write waiting.
type stall struct {
	mu      sync.Mutex
	waiting bool
	since   time.Duration // when the first write began of those that have not ended well
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

// stands returns since when nothing was written, where that is longer than atMost.
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

// waitsForDisk is what a leader waits for whose disk stands still.
const waitsForDisk = "another leader: the disk of this machine stands still"

// makeWay has a leader fall silent whose disk has written nothing for as long as a
// member is waited for, if others can elect another one, who then excludes this one.
// Raft may itself wait for the disk, so it is not asked. Once silent, it is so until
// the disk writes again.
func (n *Node) makeWay(ag *agreement.Agreement) (silent bool) {
	since, stands := n.disk.stands(n.cfg.Clock.Now(), n.cfg.Patience)
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

// othersSuffice reports whether most voters are others than the leader and were heard
// since a moment, so that their disks write.
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
