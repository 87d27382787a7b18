// The isolation of queries and updates.

package store

// Isolation describes how queries and updates see each other. docs/API.md has examples for each.
type Isolation string

// The isolations.
const (
	// IsolationSnapshot is the isolation of a lone node: a query sees one state, and an update is
	// atomic.
	IsolationSnapshot Isolation = "snapshot"
	// IsolationTriple is the isolation of a cluster: operations on one triple are linearizable. An
	// update is not atomic, and a query may see a part of it.
	IsolationTriple Isolation = "triple"
)

// Explain returns the meaning of an isolation in one line for people.
func (i Isolation) Explain() string {
	switch i {
	case IsolationSnapshot:
		return "a query sees one state, and an update is atomic"
	case IsolationTriple:
		return "each triple is linearizable; updates are not atomic, and a query sees no one state"
	}
	return "unknown: the server does not say"
}

// Isolation returns IsolationSnapshot, because the store is opened by itself.
func (s *Store) Isolation() Isolation { return IsolationSnapshot }
