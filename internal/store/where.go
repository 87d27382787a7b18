// Where a triple is: its versions, their machines, and which of these have them.

package store

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Whereabouts reports the places of one triple, and which machines have it.
type Whereabouts struct {
	// Stored reports whether the triple is stored. If that cannot be read, it is false, and Unknown is
	// the reason.
	Stored  bool   `json:"stored"`
	Unknown string `json:"unknown,omitempty"`
	// Required is the number of distinct machines that must have the triple if it is stored, Holding
	// the number of machines that have returned a row of SPO, POS or OSP, or a replica.
	Required int `json:"required"`
	Holding  int `json:"holding"`

	Epoch  uint64  `json:"epoch"`
	Phase  string  `json:"phase,omitempty"` // of the cluster's view
	Places []Where `json:"places"`
}

// Where is one place of a triple: a version or a replica on a machine.
type Where struct {
	Version string `json:"version"` // "spo", "pos", "osp", "gspo" or "replica"
	Machine string `json:"machine"`
	Address string `json:"address"`
	State   string `json:"state"` // of the machine: "up", "spare", "leaving" or "down"
	// Ring is the place of the machine on the ring, clockwise from 1; 0 if it is not on it.
	Ring int `json:"ring"`
	// Segment contains the key of the version. A replica has none.
	Segment *WhereSegment `json:"segment,omitempty"`
	// Row is RowPresent, RowMissing, RowDeleted or RowUnknown, as the machine's disk has it.
	Row   string `json:"row"`
	Error string `json:"error,omitempty"` // why Row is unknown
	Why   string `json:"why"`             // why this machine has the place, as text
}

// WhereSegment is a segment, its partition, and its bounds as text; "" is the end of the space.
type WhereSegment struct {
	ID        uint64 `json:"id"`
	Partition uint32 `json:"partition"`
	From      string `json:"from"`
	Until     string `json:"until"`
}

// What a machine has of a version.
const (
	RowPresent = "present"
	RowMissing = "missing"
	RowDeleted = "deleted" // a tombstone
	RowUnknown = "unknown" // the machine does not answer
)

// VersionReplica names an extra copy of a triple.
const VersionReplica = "replica"

// Where returns the places of t on this machine, which has all of a lone store.
func (s *Store) Where(ctx context.Context, t triple.Triple) (w Whereabouts, err error) {
	if err := t.Check(); err != nil {
		return w, err
	}
	// 1. The places by the layout, which has one machine.
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	w.Required, w.Epoch = 1, s.Epoch()
	if w.Places, err = PlacesOf(s.segments.Layout(), key); err != nil {
		return w, err
	}
	// 2. Its rows.
	rows, err := s.VersionRows(ctx, key)
	if err != nil {
		return w, err
	}
	for i := range w.Places {
		p := &w.Places[i]
		p.State, p.Row, p.Why = "up", rows[p.Version], p.Why+"; this node is alone and has everything"
		if p.Row == RowPresent {
			w.Stored, w.Holding = true, 1
		}
	}
	return w, nil
}

// PlacesOf returns the places of a triple under a layout, of which key is the row in SPO. The caller
// sets Address, State, Row and Error.
func PlacesOf(l recovery.Layout, key []byte) ([]Where, error) {
	places, err := l.Places(key)
	if err != nil {
		return nil, fault.Wrap("places of a triple", err)
	}
	// The extra replicas come last, because they depend on the owners of the rows.
	owners := map[trie.MachineID]bool{}
	all := make([]Where, 0, len(places))
	for i, p := range places {
		w := Where{Version: p.Order.String(), Machine: p.Machine.String(), Ring: ringPlace(l, p.Machine)}
		if p.Extra {
			w.Version = VersionReplica
			w.Why = fmt.Sprintf("the rows of spo, pos and osp are on %d of %d machines that must have the triple; this one is the next on the ring", len(owners), l.Required())
			all = append(all, w)
			continue
		}
		if p.Order != triple.GSPO { // it is no copy
			owners[p.Machine] = true
		}
		// Each version has a segment of its own.
		version, _, err := recovery.AppendVersion(nil, p.Order, key)
		if err != nil {
			return nil, fault.Wrap("places of a triple", err)
		}
		segment := l.Trie.Lookup(version)
		w.Segment = &WhereSegment{ID: segment.ID, Partition: segment.Partition, From: placeOf(segment.Lo), Until: placeOf(segment.Hi)}
		w.Why = fmt.Sprintf("it owns partition %d, which has segment %d", segment.Partition, segment.ID)
		if i == 0 {
			w.Why += "; it stamps the changes of the triple"
		}
		all = append(all, w)
	}
	return all, nil
}

// ringPlace returns the place of a machine on the ring of a layout, from 1; 0 if it is not on it.
func ringPlace(l recovery.Layout, machine trie.MachineID) int {
	for i, m := range l.Placement.Machines() {
		if m == machine {
			return i + 1
		}
	}
	return 0
}

// VersionRows returns what this machine's tables have of a triple, by version, whether the machine
// has a place for it or not. key is the row of the triple in SPO.
func (s *Store) VersionRows(ctx context.Context, key []byte) (map[string]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sn, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	// 1. A row of an order is in the storage table, a replica in a table of its own.
	rows := map[string]string{}
	look := func(version string, table byte, key []byte) error {
		value, err := sn.Value(append([]byte{table}, key...))
		rows[version] = RowPresent
		switch {
		case err != nil:
			return fault.Wrap("look up a version", err)
		case value == nil:
			rows[version] = RowMissing
		case triple.IsTombstone(value):
			rows[version] = RowDeleted
		}
		return nil
	}
	// 2. All versions, and the replica.
	versions, err := recovery.Versions(key, nil)
	if err != nil {
		return nil, fault.Wrap("look up a version", err)
	}
	for v := range versions {
		if err := look(v.Order.String(), keyspace.Storage, v.Key); err != nil {
			return nil, err
		}
	}
	return rows, look(VersionReplica, keyspace.Replica, key)
}
