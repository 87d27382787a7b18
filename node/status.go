package node

import (
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// Status is what a store says of itself, or a cluster: the same from all of its
// nodes, as far as they know.
type Status struct {
	Version    string   `json:"version"`
	Epoch      uint64   `json:"epoch"`
	Members    []Member `json:"members"`
	Segments   int      `json:"segments"`
	Triples    int64    `json:"triples"`    // an estimate: see Store.Count for an exact one
	Rebuilding int      `json:"rebuilding"` // segments of which some copies are still to be made
	Lost       int      `json:"lost"`       // ranges of which rows may be gone for good

	Annotations int64  `json:"annotations"`
	Bytes       int64  `json:"bytes"`     // of tables
	FreeBytes   int64  `json:"freeBytes"` // of the disk; -1 where that is not known
	Reclaimed   int64  `json:"reclaimed"` // bytes of tables given back in quiet times since the start
	Merges      int64  `json:"merges"`    // of segments that shrank, since the start
	Corruptions int64  `json:"corruptions"`
	ReadOnly    bool   `json:"readOnly"`
	Error       string `json:"error,omitempty"` // why there are no writes

	// The rest is of clusters. A node that is alone leaves it out.
	Cluster    string `json:"cluster,omitempty"` // its name
	Generation uint64 `json:"generation,omitempty"`
	Phase      string `json:"phase,omitempty"`    // of the view: "idle", "fill", "serve", "ingest"
	Leader     string `json:"leader,omitempty"`   // the ID of a machine; "" while there is none
	Waiting    string `json:"waiting,omitempty"`  // what the leader waits for, in words
	Protocol   string `json:"protocol,omitempty"` // the version that all members have, such as "3.0"
	Copies     int    `json:"copies,omitempty"`   // how many machines hold each triple, if there are so many
	// Bears is how many more machines may fail at once without a loss of data. With
	// most voters gone there is no service meanwhile, but the data is safe.
	Bears int `json:"bears,omitempty"`
	// Stale is how old the rest is, where no leader is reached: what it said last. The
	// epoch is this node's, and members are down that do not answer this node.
	Stale float64 `json:"staleSeconds,omitempty"`
	// NoMajority: the node that was asked, one of two members, answers reads though it does not
	// reach the other one. Writes are refused.
	NoMajority bool        `json:"noMajority,omitempty"`
	LostRanges []LostRange `json:"lostRanges,omitempty"`
	Scrub      *Scrub      `json:"scrub,omitempty"` // nil where none has ended
}

// Member is one machine.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"` // host:port of its doors; "" for a store that serves none
	State   string `json:"state"`   // "up", "spare", "leaving" or "down"

	// The rest is of clusters.
	Voter       bool    `json:"voter,omitempty"` // it votes on views
	Incarnation uint64  `json:"incarnation,omitempty"`
	Version     string  `json:"version,omitempty"`  // of its release; "" where it is not known
	Protocol    string  `json:"protocol,omitempty"` // the version that it has had since it started last
	Segments    int     `json:"segments,omitempty"` // that it answers for
	Triples     int64   `json:"triples,omitempty"`  // rows of order SPO, an estimate
	Bytes       int64   `json:"bytes,omitempty"`    // of tables
	FreeBytes   int64   `json:"freeBytes,omitempty"`
	Lag         uint64  `json:"lag,omitempty"`          // epochs between its view and the newest
	Lease       float64 `json:"leaseSeconds,omitempty"` // that its lease lasts; 0 where it has none
	Walk        *Walk   `json:"walk,omitempty"`         // nil where it walks no more
	Slow        int     `json:"slow,omitempty"`         // how many members wait for it for too long
	Damaged     bool    `json:"damaged,omitempty"`      // its disk has returned damaged tables or rows
	Error       string  `json:"error,omitempty"`        // why it takes no writes
}

// Walk is how far a member is with its part of a rebuild or move.
type Walk struct {
	Rows     int64   `json:"rows"`              // looked at
	Repaired int64   `json:"repaired"`          // written or sent, because they were missing
	Left     int64   `json:"left"`              // still to be looked at, an estimate
	Damaged  int64   `json:"damaged,omitempty"` // that cannot be decoded, and are passed over
	Resumed  int64   `json:"resumed,omitempty"` // not sent again: a backfill of an earlier epoch has sent them
	ETA      float64 `json:"etaSeconds"`        // that it still takes; 0 where that is not known
}

// Scrub is what scrubs have found that the leader has led: comparisons of all copies.
type Scrub struct {
	Passes      int64   `json:"passes"`          // that came to their ends
	Differences int64   `json:"differences"`     // triples whose copies were not the same, in all passes
	Repaired    int64   `json:"repaired"`        // of these
	Left        int64   `json:"left"`            // of what the last pass found, not repaired
	Rows        int64   `json:"rows"`            // that the last pass compared
	Seconds     float64 `json:"seconds"`         // that it took
	Age         float64 `json:"ageSeconds"`      // since it ended
	Error       string  `json:"error,omitempty"` // why it did not come to its end
}

// LostRange is a range of keys of which some rows may be gone for good, since all
// machines that held them died.
type LostRange struct {
	Order string `json:"order"`
	// From (inclusive) and Until (exclusive) are the places between which it lies,
	// as text for people: leading terms of the order. "" is the beginning or the end.
	From  string `json:"from"`
	Until string `json:"until"`
	// Lo and Hi are the same as keys; Hi is nil at the end of the space.
	Lo    []byte `json:"lo"`
	Hi    []byte `json:"hi,omitempty"`
	Epoch uint64 `json:"epoch"` // from which on it is so
}

// NewLostRange describes the range of keys from lo to hi.
func NewLostRange(r triple.Range, epoch uint64) LostRange {
	lost := LostRange{From: placeOf(r.Lo), Until: placeOf(r.Hi), Lo: r.Lo, Hi: r.Hi, Epoch: epoch}
	if len(r.Lo) > 0 {
		lost.Order = triple.Order(r.Lo[0]).String()
	}
	return lost
}

// placeOf returns the terms of a key, in its order; of one that is cut off, or has
// long terms, its bytes.
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
	st := Status{
		Version:     s.options.Version,
		Segments:    s.Trie().Len(),
		Members:     []Member{{ID: s.MachineID().String(), State: "up"}},
		Corruptions: s.health.corruptions.Load(),
		Reclaimed:   s.metrics.reclaimed.Load(),
		Merges:      s.metrics.merges.Load(),
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
	var stamps sequence
	if err := stamps.read(s); err == nil {
		st.Epoch = stamps.epoch
	}
	return st
}
