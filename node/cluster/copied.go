package cluster

import "time"

// This file is about a data directory that was copied and started elsewhere while the
// first process runs. Two processes are one machine then. The later one, of the greater
// incarnation, is the member; the other one is told so, and ends.

// older is a process that reports though a later one of its machine is known, and when
// it first did.
type older struct {
	incarnation uint64
	at          time.Duration
}

// superseded reports whether a report is of a process while a later one of the same
// machine runs, and where that is. It is so only where the later one was heard between
// two reports: otherwise it may be gone, and its disk an older one now.
func (g *grants) superseded(r *report, now time.Duration) (by string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	later := g.heard[r.ID]
	if g.term == 0 || later.report.Incarnation <= r.Incarnation {
		return "", false
	}
	if o := g.older[r.ID]; o.incarnation == r.Incarnation {
		return later.report.Address, later.at > o.at
	}
	g.older[r.ID] = older{r.Incarnation, now}
	return "", false
}
