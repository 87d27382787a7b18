// The answer of /status.

package api

import "time"

// Status is the status of a node, or of its cluster.
type Status struct {
	Version    string   `json:"version"`
	Epoch      uint64   `json:"epoch"`
	Members    []Member `json:"members"`
	Segments   int      `json:"segments"`
	Triples    int64    `json:"triples"`    // without those of links and prefixes that users did not add
	Rebuilding int      `json:"rebuilding"` // segments with missing copies
	Lost       int      `json:"lost"`       // ranges with rows that may be lost forever

	Annotations int64  `json:"annotations"`
	Exact       bool   `json:"exact"`     // Triples and Annotations are exact; otherwise they are estimates
	Bytes       int64  `json:"bytes"`     // of tables on the disk
	FreeBytes   int64  `json:"freeBytes"` // of the disk; -1 if it is unknown
	Reclaimed   int64  `json:"reclaimed"` // of a lone node: bytes of tables given back in quiet times
	Merges      int64  `json:"merges"`    // of a lone node: segments that shrank and were merged
	Corruptions int64  `json:"corruptions"`
	ReadOnly    bool   `json:"readOnly"`
	Error       string `json:"error,omitempty"` // the reason if the node rejects writes

	// The other fields are of clusters, and zero if the node is alone.
	Cluster    string `json:"cluster,omitempty"` // its name
	Generation uint64 `json:"generation,omitempty"`
	Phase      string `json:"phase,omitempty"`    // "idle", "fill", "serve" or "ingest"
	Leader     string `json:"leader,omitempty"`   // the ID of a machine; "" if there is none
	Waiting    string `json:"waiting,omitempty"`  // the reason if the leader waits, in words
	Protocol   string `json:"protocol,omitempty"` // the version of all members, such as "1.0"
	Copies     int    `json:"copies,omitempty"`   // machines for each triple, if the cluster has enough
	Bears      int    `json:"bears,omitempty"`    // more machines that may fail at once without a loss of data
	// Stale is the age of the other fields if the node reaches no leader.
	Stale float64 `json:"staleSeconds,omitempty"`
	// NoMajority is set if the node, one of two members, answers reads although it does not
	// reach the other one. It rejects writes.
	NoMajority bool `json:"noMajority,omitempty"`
	// StoredCopies is how many machines hold each triple at least: fewer than Copies if the cluster
	// has too few machines or is making copies, 0 if triples may be lost.
	StoredCopies int `json:"storedCopies,omitempty"`
	// Excluded are machines that failed and did not come back. They are no members. Remove
	// dismisses one that will not come back.
	Excluded []ExcludedMachine `json:"excluded,omitempty"`
	// Missing are the IDs of the excluded machines whose copies are not made again yet.
	Missing    []string    `json:"missing,omitempty"`
	LostRanges []LostRange `json:"lostRanges,omitempty"`
	Scrub      *Scrub      `json:"scrub,omitempty"` // nil if none has ended

	// Stalled are parts of the node that follow the change feed and stand still.
	Stalled []StalledFollower `json:"stalled,omitempty"`
}

// StalledFollower is a part of a node that follows the change feed and has not advanced for a minute: what it keeps is
// not current.
type StalledFollower struct {
	Follower string    `json:"follower"` // "text", "links", "columns", "subscriptions" or "function NAME"
	Since    time.Time `json:"since"`
	Error    string    `json:"error,omitempty"` // of its last try
}

// Member is one machine.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"` // host:port of its endpoints; "" if a store serves none
	State   string `json:"state"`   // "up", "spare", "leaving" or "down"

	// The other fields are of clusters.
	Voter       bool    `json:"voter,omitempty"` // it votes on views
	Incarnation uint64  `json:"incarnation,omitempty"`
	Version     string  `json:"version,omitempty"`  // of its release; "" if it is unknown
	Protocol    string  `json:"protocol,omitempty"` // its version since its last start
	Segments    int     `json:"segments,omitempty"` // owned by it
	Triples     int64   `json:"triples,omitempty"`  // rows of order SPO, an estimate
	Copies      int64   `json:"copies,omitempty"`   // rows of SPO, POS and OSP, and extra replicas, an estimate
	Bytes       int64   `json:"bytes,omitempty"`    // of tables
	FreeBytes   int64   `json:"freeBytes,omitempty"`
	Lag         uint64  `json:"lag,omitempty"`          // epochs between its view and the newest
	Lease       float64 `json:"leaseSeconds,omitempty"` // remaining time of its lease; 0 if it has none
	Walk        *Walk   `json:"walk,omitempty"`         // its backfill; nil if there is none
	Slow        int     `json:"slow,omitempty"`         // members that have waited for it too long
	Damaged     bool    `json:"damaged,omitempty"`      // its disk has returned damaged tables or rows
	Error       string  `json:"error,omitempty"`        // the reason if it rejects writes
}

// ExcludedMachine is a machine that the others have given up because it failed. It is listed until it
// comes back, a machine joins at its address, or an operator removes it.
type ExcludedMachine struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Epoch   uint64 `json:"epoch"` // the first epoch without it
	Why     string `json:"why"`   // a relative clause, such as "which is not heard of"
}

// Walk is the progress of a member's backfill: its part of a rebuild or move.
type Walk struct {
	Rows     int64   `json:"rows"`              // compared
	Repaired int64   `json:"repaired"`          // written or sent, because they were missing
	Left     int64   `json:"left"`              // still to be compared, an estimate
	Damaged  int64   `json:"damaged,omitempty"` // skipped, because they cannot be decoded
	Resumed  int64   `json:"resumed,omitempty"` // not sent again, because a backfill of an earlier epoch has sent them
	ETA      float64 `json:"etaSeconds"`        // estimated remaining time; 0 if it is unknown
}

// Scrub is the result of the scrubs under this leader: comparisons of all copies.
type Scrub struct {
	Passes      int64   `json:"passes"`          // completed ones
	Differences int64   `json:"differences"`     // triples with different copies, in all passes
	Repaired    int64   `json:"repaired"`        // of the differences
	Left        int64   `json:"left"`            // differences of the last pass that are not repaired
	Rows        int64   `json:"rows"`            // compared by the last pass
	Seconds     float64 `json:"seconds"`         // duration of the last pass
	Age         float64 `json:"ageSeconds"`      // since it ended
	Error       string  `json:"error,omitempty"` // the reason if the last pass did not complete
}

// LostRange is a range of an order. Some of its triples may be lost forever.
type LostRange struct {
	Order string `json:"order"`
	// From (inclusive) and Until (exclusive) are its bounds as text for people; "" is the beginning
	// or the end of the order. Lo and Hi are the keys.
	From  string `json:"from"`
	Until string `json:"until"`
	Lo    []byte `json:"lo"`
	Hi    []byte `json:"hi,omitempty"`
	Epoch uint64 `json:"epoch"` // the first epoch with the loss
}
