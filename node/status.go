package node

// Status is what a store says of itself.
type Status struct {
	Version    string   `json:"version"`
	Epoch      uint64   `json:"epoch"`
	Members    []Member `json:"members"`
	Segments   int      `json:"segments"`
	Triples    int64    `json:"triples"` // an estimate: see Store.Count for an exact one
	Rebuilding int      `json:"rebuilding"`
	Lost       int      `json:"lost"`

	Annotations int64  `json:"annotations"`
	Bytes       int64  `json:"bytes"`     // of tables
	FreeBytes   int64  `json:"freeBytes"` // of the disk; -1 where that is not known
	Corruptions int64  `json:"corruptions"`
	ReadOnly    bool   `json:"readOnly"`
	Error       string `json:"error,omitempty"` // why there are no writes
}

// Member is one machine.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"` // host:port of its doors; "" for a store that serves none
	State   string `json:"state"`   // "up"
}

// Status returns the state of the store.
func (s *Store) Status() Status {
	st := Status{
		Version:     s.options.Version,
		Segments:    s.Trie().Len(),
		Members:     []Member{{ID: s.MachineID().String(), State: "up"}},
		Corruptions: s.health.corruptions.Load(),
		ReadOnly:    s.options.ReadOnly,
		FreeBytes:   -1,
	}
	if usage, err := s.disk.look(); err == nil {
		st.FreeBytes = int64(usage.AvailBytes)
	}
	if err := s.health.err(); err != nil {
		st.Error = err.Error()
	} else if err := s.disk.room(0); err != nil {
		st.Error = err.Error()
	}
	if err := s.uses.begin(); err != nil {
		st.Error = err.Error()
		return st
	}
	defer s.uses.end()
	if c, err := s.storedCounters(); err == nil {
		st.Triples, st.Annotations = c.triples, c.annotations
	}
	for _, level := range s.db.Metrics().Levels {
		st.Bytes += level.TablesSize
	}
	st.Epoch = firstEpoch
	return st
}
