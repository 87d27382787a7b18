// This file names the isolation that queries and updates have.

package node

// Isolation is what queries and updates see of each other. docs/API.md has examples of
// what each of them allows.
type Isolation string

// The isolations.
const (
	// IsolationSnapshot is that of a node alone: a query sees one state, and an update is
	// atomic.
	IsolationSnapshot Isolation = "snapshot"
	// IsolationTriple is that of a cluster: operations on one triple are linearizable. An
	// update is not atomic, and a query may see a part of it.
	IsolationTriple Isolation = "triple"
)

// Explain returns what an isolation means, in a line for people.
func (i Isolation) Explain() string {
	switch i {
	case IsolationSnapshot:
		return "a query sees one state, and an update is atomic"
	case IsolationTriple:
		return "each triple is linearizable; updates are not atomic, and a query sees no one state"
	}
	return "unknown: the server does not say"
}

// Isolation returns what holds in a store that is opened by itself.
func (s *Store) Isolation() Isolation { return IsolationSnapshot }
