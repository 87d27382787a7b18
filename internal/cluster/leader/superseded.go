// Two processes with copies of one data directory.

package leader

import (
	"time"
)

// This file is about a copied data directory, started elsewhere while the first process runs. The
// two processes are one machine then. The later one has the greater incarnation and is the
// member. The other one gets an error and must end.

// olderProcess is an earlier process of a machine. It still reports though a later one is known. It
// records when it first did.
type olderProcess struct {
	incarnation uint64
	at          time.Duration
}

// superseded returns the address of a later process of the machine of a report. ok is false if
// none is known to run. It is known to run only if it reported between two reports of this one.
// Otherwise it may have ended, and an older disk may have replaced its own.
func (g *grants) superseded(r *Report, now time.Duration) (by string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	later := g.reports[r.ID]
	if g.term == 0 || later.report.Incarnation <= r.Incarnation {
		return "", false
	}
	if o := g.olderProcesses[r.ID]; o.incarnation == r.Incarnation {
		return later.report.Address, later.at > o.at
	}
	g.olderProcesses[r.ID] = olderProcess{r.Incarnation, now}
	return "", false
}
