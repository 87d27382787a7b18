// The answer of /where.

package api

// Whereabouts reports the places of one triple, and which machines have it.
type Whereabouts struct {
	// Stored reports whether the triple is stored. If the cluster could not read that, it is false,
	// and Unknown is the reason.
	Stored   bool   `json:"stored"`
	Unknown  string `json:"unknown,omitempty"`
	Required int    `json:"required"` // machines that must have the triple if it is stored
	Holding  int    `json:"holding"`  // machines that have returned a row of it

	Epoch  uint64  `json:"epoch"`
	Phase  string  `json:"phase,omitempty"` // of clusters: see Status
	Places []Where `json:"places"`
}

// Where is one place of a triple: a version or an extra copy on a machine.
type Where struct {
	Version string        `json:"version"` // "spo", "pos", "osp", "gspo" or "replica"
	Machine string        `json:"machine"`
	Address string        `json:"address"`
	State   string        `json:"state"`             // of the machine: see Member
	Ring    int           `json:"ring"`              // its place on the ring, clockwise from 1; 0 if it is not on it
	Segment *WhereSegment `json:"segment,omitempty"` // nil for a replica
	// Row is what the machine has on its disk: "present", "missing", "deleted" (a tombstone) or
	// "unknown", because it does not answer.
	Row   string `json:"row"`
	Error string `json:"error,omitempty"` // the reason if Row is "unknown"
	Why   string `json:"why"`             // why the machine has the place, in words
}

// WhereSegment is the segment with the key of a version. Its bounds are text; "" is the end of the
// space.
type WhereSegment struct {
	ID        uint64 `json:"id"`
	Partition uint32 `json:"partition"`
	From      string `json:"from"`
	Until     string `json:"until"`
}
