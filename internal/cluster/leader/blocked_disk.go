// A leader with a blocked disk.

package leader

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

// This file is about a leader with a blocked disk. Members do not suspect a leader if it is
// heard, and Raft's heartbeats need no disk. So it must make way itself.

// DiskWatch is how long this machine's disk has kept a write waiting. Its methods are safe for
// concurrent use.
type DiskWatch struct {
	mu      sync.Mutex
	waiting bool
	since   time.Duration // when the first unfinished write began
}

// Begin records that a write begins.
func (d *DiskWatch) Begin(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.waiting {
		d.waiting, d.since = true, now
	}
}

// Done records that all writes are durable.
func (d *DiskWatch) Done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = false
}

// blocked returns when the first unfinished write began. ok is true if that is more than atMost
// ago.
func (d *DiskWatch) blocked(now, atMost time.Duration) (since time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since, d.waiting && now-d.since > atMost
}

// waitsForDisk is why a leader waits if its disk is blocked.
const waitsForDisk = "another leader: the disk of this machine stands still"

// makeWay silences a leader if its disk has written nothing for FailureTimeout and the others can
// elect another one. The other one then excludes it. It must not call Raft, because Raft may
// itself wait for the disk. The leader stays silent until the disk writes again.
func (l *Leader) makeWay() (silent bool) {
	since, blocked := l.Disk.blocked(l.options.Now(), l.options.FailureTimeout)
	if blocked && !l.gaveWay {
		voters, _ := l.agreement.Configuration()
		blocked = l.grants.othersSuffice(l.options.Self, voters, since-l.options.Lease)
	}
	if l.gaveWay != blocked {
		l.gaveWay = blocked
		l.options.Logger.Warn("whether the disk stands still has changed", "another machine is to lead", blocked, "since", since)
	}
	l.agreement.Silence(blocked || l.options.Yields())
	return blocked
}

// othersSuffice reports whether a majority of the voters are other machines and have reported
// since a moment, because then their disks write.
func (g *grants) othersSuffice(self trie.MachineID, voters map[trie.MachineID]string, since time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	well := 0
	for id := range voters {
		if h, ok := g.reports[id]; ok && id != self && h.at >= since && g.term != 0 {
			well++
		}
	}
	return 2*well > len(voters)
}
