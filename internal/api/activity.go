// The answer of /cluster/activity.

package api

// Activity is what a machine does and uses. Counters begin at 0 with its process: their growth between two answers,
// divided by that of Seconds, is a rate.
type Activity struct {
	MemberName
	Seconds          float64 `json:"seconds"`          // since its endpoints opened
	ProcessorSeconds float64 `json:"processorSeconds"` // of all processors; 0 if its system does not report it
	Memory           int64   `json:"memory"`           // bytes of the process; 0 if its system does not report it
	Requests         int64   `json:"requests"`         // of clients, answered
	RequestsInFlight int64   `json:"requestsInFlight"`
	Queries          int64   `json:"queries"` // and updates, ended
	QueriesRunning   int64   `json:"queriesRunning"`
	RowsRead         int64   `json:"rowsRead"`     // by ended queries, without updates, also from other machines
	BytesWritten     int64   `json:"bytesWritten"` // to its store, also for other machines
	// CompactionDebt is how many bytes of its tables are to be compacted; nil if it does not report them, because its
	// release is older.
	CompactionDebt *int64 `json:"compactionDebt,omitempty"`
}

// ActivityList is what the members of a cluster do, or a node alone.
type ActivityList struct {
	Members []Activity `json:"members"` // sorted by their addresses
	// Absent are the members that did not answer.
	Absent []AbsentMember `json:"absent,omitempty"`
}
