// Isolation levels, and the anomalies that break them.

package history

import "strings"

// Isolation is how far transactions are kept apart. A greater one includes the smaller ones.
type Isolation uint8

// The isolations.
const (
	ReadUncommitted Isolation = iota
	ReadCommitted
	Snapshot
	Serial
)

// Order is which transactions must see each other. A greater one includes the smaller ones.
type Order uint8

// The orders.
const (
	Unordered     Order = iota
	ProcessOrder        // a transaction sees the earlier ones of its process
	RealTimeOrder       // a transaction sees all that were acknowledged before its begin
)

// Level is an isolation level. It includes another one if it is at least as great in both parts.
type Level struct {
	Isolation Isolation
	Order     Order
}

// The levels that stores promise.
var (
	SnapshotIsolation              = Level{Snapshot, Unordered}
	StrongSessionSnapshotIsolation = Level{Snapshot, ProcessOrder}
	StrongSnapshotIsolation        = Level{Snapshot, RealTimeOrder}
	Serializable                   = Level{Serial, Unordered}
	StrictSerializable             = Level{Serial, RealTimeOrder}
)

// Includes reports whether whatever breaks other breaks l, too.
func (l Level) Includes(other Level) bool {
	return l.Isolation >= other.Isolation && l.Order >= other.Order
}

// String returns the name of the level, such as "strong session snapshot isolation".
func (l Level) String() string {
	if l == StrictSerializable {
		return "strict serializable"
	}
	return [...]string{"", "strong session ", "strong "}[l.Order] +
		[...]string{"read uncommitted", "read committed", "snapshot isolation", "serializable"}[l.Isolation]
}

// The names of anomalies. Those of cycles may have a suffix, see [Anomaly].
const (
	G0                = "G0"
	G1a               = "G1a"
	G1b               = "G1b"
	G1c               = "G1c"
	GSingle           = "G-single"
	GNonadjacent      = "G-nonadjacent"
	G2Item            = "G2-item"
	Internal          = "internal"
	LostUpdate        = "lost-update"
	TornRead          = "torn-read"
	IncompatibleOrder = "incompatible-order"
	DuplicateElement  = "duplicate-element"
	GarbageRead       = "garbage-read"

	processSuffix  = "-process"
	realTimeSuffix = "-realtime"
)

// breaks has the weakest isolation that an anomaly breaks.
var breaks = map[string]Isolation{
	G0: ReadUncommitted, DuplicateElement: ReadUncommitted, GarbageRead: ReadUncommitted,
	G1a: ReadCommitted, G1b: ReadCommitted, G1c: ReadCommitted, IncompatibleOrder: ReadCommitted,
	GSingle: Snapshot, GNonadjacent: Snapshot, Internal: Snapshot, LostUpdate: Snapshot, TornRead: Snapshot,
	G2Item: Serial,
}

// weakestBroken returns the weakest level that the anomaly of a name breaks.
func weakestBroken(name string) (l Level) {
	base, suffixed := strings.CutSuffix(name, processSuffix)
	if suffixed {
		l.Order = ProcessOrder
	}
	if base, suffixed = strings.CutSuffix(base, realTimeSuffix); suffixed {
		l.Order = RealTimeOrder
	}
	l.Isolation = breaks[base]
	return l
}
