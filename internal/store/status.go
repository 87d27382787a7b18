// The status of a store or a cluster, as JSON.

package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// Status is the state of a store, or of a cluster. All nodes of a cluster return the same, as far
// as they have reports.
type Status struct {
	Version    string   `json:"version"`
	Epoch      uint64   `json:"epoch"`
	Members    []Member `json:"members"`
	Segments   int      `json:"segments"`
	Triples    int64    `json:"triples"`    // without UIDs and hosts of links and the row of prefixes, as in counts of clients
	Rebuilding int      `json:"rebuilding"` // segments with missing copies
	Lost       int      `json:"lost"`       // ranges with rows that may be lost for good

	Annotations int64  `json:"annotations"`
	Exact       bool   `json:"exact"`     // triples and annotations are exact; otherwise they are estimates
	Bytes       int64  `json:"bytes"`     // of tables
	FreeBytes   int64  `json:"freeBytes"` // of the disk; -1 if unknown
	Reclaimed   int64  `json:"reclaimed"` // bytes of tables freed in quiet times since the start
	Merges      int64  `json:"merges"`    // merges of small segments since the start
	Corruptions int64  `json:"corruptions"`
	ReadOnly    bool   `json:"readOnly"`
	Error       string `json:"error,omitempty"` // why writes are rejected

	// The rest is of clusters. A lone node leaves it out.
	Cluster    string `json:"cluster,omitempty"` // its name
	Generation uint64 `json:"generation,omitempty"`
	Phase      string `json:"phase,omitempty"`    // of the view: "idle", "fill", "serve", "ingest"
	Leader     string `json:"leader,omitempty"`   // the ID of a machine; "" if there is none
	Waiting    string `json:"waiting,omitempty"`  // what the leader waits for, as text
	Protocol   string `json:"protocol,omitempty"` // the version that all members have, such as "1.0"
	Copies     int    `json:"copies,omitempty"`   // how many machines must hold each triple, if there are enough
	// Bears is the number of machines that may fail at once without a loss of data. If most voters
	// fail, there is no service meanwhile, but the data is safe.
	Bears int `json:"bears,omitempty"`
	// Stale is the age of the rest in seconds, if no leader is reached: its last report. The epoch
	// is this node's then. A member counts as down if it does not answer this node.
	Stale float64 `json:"staleSeconds,omitempty"`
	// NoMajority means that this node is one of two members, cannot reach the other, and still
	// answers reads. It rejects writes.
	NoMajority bool `json:"noMajority,omitempty"`
	// StoredCopies is how many machines hold each triple at least; fewer than Copies if machines are
	// too few or copies are still being made. It is 0 if rows may be lost.
	StoredCopies int `json:"storedCopies,omitempty"`
	// Excluded are machines that failed and did not come back. They are no members.
	Excluded []ExcludedMachine `json:"excluded,omitempty"`
	// Missing are the IDs of the excluded machines whose copies are not made again yet.
	Missing    []string    `json:"missing,omitempty"`
	LostRanges []LostRange `json:"lostRanges,omitempty"`
	Scrub      *Scrub      `json:"scrub,omitempty"` // nil if none has ended
}

// Member is one machine.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"` // host:port of its endpoints; "" if a store serves none
	State   string `json:"state"`   // "up", "spare", "leaving" or "down"

	// The rest is of clusters.
	Voter       bool    `json:"voter,omitempty"` // it votes on views
	Incarnation uint64  `json:"incarnation,omitempty"`
	Version     string  `json:"version,omitempty"`  // of its release; "" if unknown
	Protocol    string  `json:"protocol,omitempty"` // its version since its last start
	Segments    int     `json:"segments,omitempty"` // the segments it owns
	Triples     int64   `json:"triples,omitempty"`  // rows of order SPO, an estimate
	Copies      int64   `json:"copies,omitempty"`   // rows of SPO, POS and OSP, and extra replicas, an estimate
	Bytes       int64   `json:"bytes,omitempty"`    // of tables
	FreeBytes   int64   `json:"freeBytes,omitempty"`
	Lag         uint64  `json:"lag,omitempty"`          // epochs between its view and the newest
	Lease       float64 `json:"leaseSeconds,omitempty"` // seconds left of its lease; 0 if it has none
	Walk        *Walk   `json:"walk,omitempty"`         // nil if no backfill runs
	Slow        int     `json:"slow,omitempty"`         // number of members that wait for it for too long
	Damaged     bool    `json:"damaged,omitempty"`      // its disk has returned damaged tables or rows
	Error       string  `json:"error,omitempty"`        // why it rejects writes
}

// ExcludedMachine is a machine that was excluded because it failed. It is listed until it comes back, a
// machine joins at its address, or an operator removes it.
type ExcludedMachine struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Epoch   uint64 `json:"epoch"` // the first one without it
	Why     string `json:"why"`   // a relative clause, such as "which is not heard of"
}

// Walk is the progress of a member's backfill.
type Walk struct {
	Rows     int64   `json:"rows"`              // read so far
	Repaired int64   `json:"repaired"`          // written or sent, because they were missing
	Left     int64   `json:"left"`              // still to be read, an estimate
	Damaged  int64   `json:"damaged,omitempty"` // rows that do not decode, and are skipped
	Resumed  int64   `json:"resumed,omitempty"` // not sent again, because a backfill of an earlier epoch sent them
	ETA      float64 `json:"etaSeconds"`        // seconds until its end; 0 if unknown
}

// Scrub is the result of the scrubs under the current leader: comparisons of all copies.
type Scrub struct {
	Passes      int64   `json:"passes"`          // that ended
	Differences int64   `json:"differences"`     // triples with different copies, in all passes
	Repaired    int64   `json:"repaired"`        // of these
	Left        int64   `json:"left"`            // differences of the last pass that were not repaired
	Rows        int64   `json:"rows"`            // rows compared by the last pass
	Seconds     float64 `json:"seconds"`         // duration of the last pass
	Age         float64 `json:"ageSeconds"`      // time since it ended
	Error       string  `json:"error,omitempty"` // why it did not end
}

// LostRange is a range of keys whose rows may be lost for good, because all their machines failed.
type LostRange struct {
	Order string `json:"order"`
	// From (inclusive) and Until (exclusive) are the bounds as text for people: leading terms of
	// the order. "" is the beginning or the end.
	From  string `json:"from"`
	Until string `json:"until"`
	// Lo and Hi are the same as keys; Hi is nil at the end of the space.
	Lo    []byte `json:"lo"`
	Hi    []byte `json:"hi,omitempty"`
	Epoch uint64 `json:"epoch"` // the epoch since when
}

// NewLostRange describes the range r of keys.
func NewLostRange(r triple.Range, epoch uint64) LostRange {
	lost := LostRange{From: placeOf(r.Lo), Until: placeOf(r.Hi), Lo: r.Lo, Hi: r.Hi, Epoch: epoch}
	if len(r.Lo) > 0 {
		lost.Order = triple.Order(r.Lo[0]).String()
	}
	return lost
}

// placeOf returns the terms of a key, in its order. If the key is cut off, or has long terms, it
// returns the bytes.
func placeOf(key []byte) string {
	if len(key) < 2 {
		return ""
	}
	order, terms, err := triple.SplitKey(key)
	var text []byte
	for _, position := range order.Positions() {
		if err == nil && len(terms[position]) > 0 {
			if len(text) > 0 {
				text = append(text, ' ')
			}
			text, err = triple.AppendTermNT(text, terms[position])
		}
	}
	if err != nil {
		return fmt.Sprintf("%q", key[1:])
	}
	return string(text)
}

// Status returns the state of the store.
func (s *Store) Status() Status {
	// 1. Fill in the values in memory: these are valid even if the store is closing.
	st := Status{
		Version:     s.options.Version,
		Segments:    s.segments.Trie().Len(),
		Members:     []Member{{ID: s.MachineID().String(), State: "up"}},
		Corruptions: s.db.Counts.Corruptions.Load(),
		Reclaimed:   s.db.Counts.Reclaimed.Load(),
		Merges:      s.segments.Merges.Load(),
		ReadOnly:    s.options.ReadOnly,
		FreeBytes:   s.db.Free(),
	}
	if err := s.db.Err(); err != nil {
		st.Error = err.Error()
	} else if err := s.db.Room(0); err != nil {
		st.Error = err.Error()
	} else if s.db.Full() {
		st.Error = ErrDiskFull.Error()
	}
	// 2. Read the rest from the database, if it is open.
	if err := s.db.Begin(); err != nil {
		st.Error = err.Error()
		return st
	}
	defer s.db.End()
	if c, err := s.db.Counters(); err == nil {
		// Users did not add the row of prefixes and the UIDs of pages, so they must not see them in a count.
		triples, annotations := s.countPrefixRow()
		st.Triples, st.Annotations = max(c.Triples-c.Links-triples, 0), max(c.Annotations-annotations, 0)
		inexact, err := s.db.Value(keyspace.RowInexact)
		st.Exact = err == nil && inexact == nil && s.member.alone() == nil
	}
	st.Bytes = s.db.TableBytes()
	st.Epoch = firstEpoch
	var stamps sequence
	if err := stamps.read(s.db); err == nil {
		st.Epoch = stamps.epoch
	}
	return st
}

// prefixKey is the key of the row of prefixes.
var prefixKey, _ = triple.AppendKey(nil, triple.SPO, systemgraph.PrefixRow)

// countPrefixRow counts the row of prefixes on this machine and its annotations. The database must be open.
func (s *Store) countPrefixRow() (triples, annotations int64) {
	row := append([]byte{keyspace.Storage}, prefixKey...)
	_, upper := triple.AnnotationBounds(row)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: row, UpperBound: upper})
	if err != nil {
		return 0, 0
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		switch value, err := it.ValueAndErr(); {
		case err != nil:
			return 0, 0
		case triple.IsTombstone(value):
		case triple.IsAnnotation(value):
			annotations++
		case bytes.Equal(it.Key(), row):
			triples++
		}
	}
	return triples, annotations
}
