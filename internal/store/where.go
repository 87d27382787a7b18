// Where triples are: the places of one triple, and the map of all segments and partitions.

package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

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
func (s *Store) Where(ctx context.Context, t triple.Triple) (w api.Whereabouts, err error) {
	if err := t.Check(); err != nil {
		return w, err
	}
	// The places by the layout, which has one machine.
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	w.Required, w.Epoch = 1, s.Epoch()
	if w.Places, err = PlacesOf(s.segments.Layout(), key); err != nil {
		return w, err
	}
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
func PlacesOf(l recovery.Layout, key []byte) ([]api.Where, error) {
	places, err := l.Places(key)
	if err != nil {
		return nil, fault.Wrap("places of a triple", err)
	}
	// The extra replicas come last, because they depend on the owners of the rows.
	owners := map[trie.MachineID]bool{}
	all := make([]api.Where, 0, len(places))
	for i, p := range places {
		w := api.Where{Version: p.Order.String(), Machine: p.Machine.String(), Ring: ringPlace(l, p.Machine)}
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
		w.Segment = &api.WhereSegment{ID: segment.ID, Partition: segment.Partition, From: placeOf(segment.Lo), Until: placeOf(segment.Hi)}
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

// SegmentMap has the owners of all partitions, and a page of the segments in the order of their keys.
type SegmentMap struct {
	Epoch uint64 `json:"epoch"`
	Phase string `json:"phase"` // of the view: "idle", "fill", "serve", "ingest"
	Total int    `json:"total"` // number of all segments
	// Moving, Rebuilt and Lost are the numbers of all segments in these states.
	Moving  int `json:"moving"`
	Rebuilt int `json:"rebuilt"`
	Lost    int `json:"lost"`
	// Machines are those of the layout that is read and of its successor, ascending by ID.
	Machines []MapMachine `json:"machines"`
	// Partitions are the owners of the partitions, as places in Machines.
	Partitions []int        `json:"partitions"`
	Segments   []MapSegment `json:"segments"`
}

// MapMachine is a machine of the map, and how much of it it owns.
type MapMachine struct {
	ID         string `json:"id"`
	Partitions int    `json:"partitions"`
	Segments   int    `json:"segments"`
}

// MapSegment is one segment. It may lie in several orders: in Order and all that follow up to Last.
type MapSegment struct {
	api.WhereSegment
	Order string `json:"order"`
	Last  string `json:"last"`
	Owner int    `json:"owner"` // a place in Machines
	// Next is the place of the machine that gets the segment; nil if that is its owner.
	Next *int `json:"next,omitempty"`
	// State is SegmentMoving, SegmentRebuilt, SegmentLost, or "".
	State string `json:"state,omitempty"`
}

// The states of segments that are not whole on their owners.
const (
	SegmentMoving  = "moving"  // its owner answers, and another machine gets it
	SegmentRebuilt = "rebuilt" // its owner is gone: other orders and replicas answer, and another machine gets it
	SegmentLost    = "lost"    // some of its rows may be lost for good
)

// maxBoundText is the greatest length of a bound as text in bytes. A page may have many bounds.
const maxBoundText = 200

// SegmentMap returns the map of the store, which owns everything itself.
func (s *Store) SegmentMap(ctx context.Context, offset, limit int) (SegmentMap, error) {
	l := s.segments.Layout()
	j := recovery.Joint{Base: l, Target: l, Members: l.Placement.Machines(), BaseLive: l.Placement.Machines()}
	m, err := s.maps.Page(ctx, l.Trie, &j, func(trie.Segment) bool { return false }, offset, limit)
	m.Epoch = s.Epoch()
	return m, err
}

// mapStride is the number of segments between two starts of a summary, and between two checks of a context.
const mapStride = 1024

// SegmentMaps makes pages of maps. It keeps the counts of all segments of the last layout, so a page reads only its own
// segments and at most mapStride others. It is safe for concurrent use.
type SegmentMaps struct{ last atomic.Pointer[mapSummary] }

// mapSummary is what the pages of one layout have in common. It is not changed.
type mapSummary struct {
	of     any        // what the map was made of
	whole  SegmentMap // without segments
	place  map[trie.MachineID]int
	starts [][]byte // the lower bound of each segment whose number is a multiple of mapStride
}

// Page returns at most limit segments of a joint layout behind the first offset ones, with the counts of all. of identifies
// the layout: a pointer to something that is not changed. isLost reports whether rows of a segment may be
// lost for good. The caller sets Epoch.
func (c *SegmentMaps) Page(ctx context.Context, of any, j *recovery.Joint, isLost func(trie.Segment) bool, offset, limit int) (SegmentMap, error) {
	// 1. Count all segments if the layout is a new one.
	summary := c.last.Load()
	if summary == nil || summary.of != of {
		var err error
		if summary, err = newMapSummary(ctx, j, isLost); err != nil {
			return SegmentMap{}, err
		}
		summary.of = of
		c.last.Store(summary)
	}
	m := summary.whole
	m.Machines, m.Partitions, m.Segments = slices.Clone(m.Machines), slices.Clone(m.Partitions), []MapSegment{}
	if offset >= m.Total || limit <= 0 {
		return m, nil
	}
	// 2. Describe those of the page.
	at := offset / mapStride * mapStride
	for segment := range j.Reads().Trie.Range(summary.starts[offset/mapStride], nil) {
		if at%mapStride == 0 && ctx.Err() != nil {
			return SegmentMap{}, ctx.Err()
		}
		if at >= offset {
			owner, next, state := stateOf(j, segment, isLost)
			m.Segments = append(m.Segments, mapSegment(segment, summary.place[owner], summary.place[next], state))
		}
		if at++; len(m.Segments) == limit {
			break
		}
	}
	return m, nil
}

// newMapSummary reads all segments of a joint layout.
func newMapSummary(ctx context.Context, j *recovery.Joint, isLost func(trie.Segment) bool) (*mapSummary, error) {
	// Number the machines, and count their partitions.
	reads := j.Reads()
	machines := trie.NewRing(slices.Concat(reads.Placement.Machines(), j.Target.Placement.Machines())...)
	m := SegmentMap{Phase: j.Phase.String(), Total: reads.Trie.Len(), Machines: make([]MapMachine, len(machines)),
		Partitions: make([]int, reads.Placement.Partitions())}
	s := &mapSummary{place: map[trie.MachineID]int{}}
	for i, id := range machines {
		s.place[id], m.Machines[i].ID = i, id.String()
	}
	for i := range m.Partitions {
		m.Partitions[i] = s.place[reads.Placement.PartitionOwner(uint32(i))]
		m.Machines[m.Partitions[i]].Partitions++
	}
	at := 0
	for segment := range reads.Trie.All() {
		if at%mapStride == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.starts = append(s.starts, segment.Lo)
		}
		owner, _, state := stateOf(j, segment, isLost)
		switch state {
		case SegmentLost:
			m.Lost++
		case SegmentRebuilt:
			m.Rebuilt++
		case SegmentMoving:
			m.Moving++
		}
		m.Machines[s.place[owner]].Segments++
		at++
	}
	s.whole = m
	return s, nil
}

// stateOf returns the owner of a segment, its next one, and its state.
func stateOf(j *recovery.Joint, s trie.Segment, isLost func(trie.Segment) bool) (owner, next trie.MachineID, state string) {
	owner, live := j.ReaderOf(s)
	next = j.Target.Placement.Owner(j.Target.Trie.Lookup(s.Lo))
	switch {
	case isLost(s):
		state = SegmentLost
	case !live:
		state = SegmentRebuilt
	case next != owner:
		state = SegmentMoving
	}
	return owner, next, state
}

func mapSegment(s trie.Segment, owner, next int, state string) MapSegment {
	m := MapSegment{WhereSegment: api.WhereSegment{ID: s.ID, Partition: s.Partition, From: boundText(s.Lo), Until: boundText(s.Hi)},
		Order: triple.SPO.String(), Last: triple.GSPO.String(), Owner: owner, State: state}
	if next != owner {
		m.Next = &next
	}
	if len(s.Lo) > 0 {
		m.Order = triple.Order(s.Lo[0]).String()
	}
	switch {
	case len(s.Hi) == 1: // the beginning of an order, which is not in the segment
		m.Last = (triple.Order(s.Hi[0]) - 1).String()
	case s.Hi != nil:
		m.Last = triple.Order(s.Hi[0]).String()
	}
	return m
}

// boundText returns a bound as text for people, cut if it is long.
func boundText(key []byte) string {
	text := placeOf(key)
	_, terms, err := triple.SplitKey(key)
	for _, term := range terms {
		if err == nil && len(term) > 0 {
			_, err = triple.AppendTermNT(nil, term)
		}
	}
	if err != nil && len(key) > 1 { // cut
		text = cutTerms(key[1:])
	}
	if len(text) > maxBoundText {
		text = strings.ToValidUTF8(text[:maxBoundText], "") + "…"
	}
	return text
}

// cutTerms returns the whole terms of the beginning of a key without its order, and what is there of the
// last one, which ends with "…". A term without a form in N-Triples, such as a part of a number, is in
// quoted bytes.
func cutTerms(terms []byte) string {
	var text []byte
	for more := true; more; {
		var term []byte
		term, terms, more = bytes.Cut(terms, []byte{0, 1}) // the end of a term, see package triple
		if len(text) > 0 {
			text = append(text, ' ')
		}
		whole, err := triple.AppendTermNT(text, term)
		switch {
		case len(term) == 0:
		case err != nil:
			text = fmt.Appendf(text, "%q", term)
		case more:
			text = whole
		default:
			text = bytes.TrimRight(whole, `>"`)
		}
	}
	return string(text) + "…"
}
