// One machine's part of a scrub: digests of its rows, and lists of rows in some buckets.

package replica

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The digests of all machines add up to the digests of the orders, which must agree.

// Kinds of digests. The digests of the orders cover the rows in this machine's segments, with
// their annotations. Named covers the rows of SPO in named graphs, because GSPO must have them.
// Due covers the extra copies that rows of SPO require, each at its place. Replicas covers the
// extra copies that exist.
const (
	DigestSPO = iota
	DigestPOS
	DigestOSP
	DigestGSPO
	DigestNamed
	DigestDue
	DigestReplicas
	DigestKinds
)

// ScrubScan configures a scan of the rows of this machine's places.
type ScrubScan struct {
	Joint      *recovery.Joint // of the view, which must be idle
	Secret     recovery.Secret
	BucketBits int
	// Floors exclude rows in flight: a row counts only if its stamp is below the floor of its
	// triple's sequencer.
	Floors Floors
	// Epoch is the view's epoch. Rows of later epochs are not excluded, because they are damage.
	Epoch uint64
	// Pace is called with the number of bytes read. It may wait. If it fails, the scan ends.
	Pace func(ctx context.Context, bytes int) error
}

// ScrubDigests is the result of a scan.
type ScrubDigests struct {
	Of [DigestKinds]*recovery.Digest
	// Rows is the number of rows in each order, in the order of triple.Orders, with rows in
	// flight.
	Rows        [orderCount]int64
	Annotations int64 // beside rows of SPO
	Foreign     int64 // rows in segments of other machines, which must not be here
	Unreadable  int64 // damaged rows
}

// ListedRow is a row of a list. Its slice is valid until the next call.
type ListedRow struct {
	Order      triple.Order
	Replica    bool
	Annotation bool // an annotation
	// Key is the key of the triple in SPO. If the row is an annotation, the rest of its key
	// follows.
	Key  []byte
	Hash recovery.Hash
}

// Buckets select the rows to list. A row of an order is listed if its hash is in one of Orders. An
// extra copy, or a row of SPO that requires one, is listed if its hash at the place is in one of
// Places. Both slices must have 2^BucketBits elements, or none.
type Buckets struct{ Orders, Places []bool }

func (b Buckets) ordered(d *recovery.Digest, h recovery.Hash) bool {
	return len(b.Orders) > 0 && b.Orders[d.Bucket(h)]
}

func (b Buckets) placed(d *recovery.Digest, h recovery.Hash) bool {
	return len(b.Places) > 0 && b.Places[d.Bucket(h)]
}

// Digests returns the digests of this machine's rows.
func (sn *Snapshot) Digests(ctx context.Context, how ScrubScan) (*ScrubDigests, error) {
	d := &ScrubDigests{}
	for i := range d.Of {
		d.Of[i] = recovery.NewDigest(how.Secret, how.BucketBits)
	}
	s := newPlaceScanner(sn, how, d)
	// Add each row to the digest of its order or of the replica table. A row of SPO is also added
	// at each place of an extra copy, because that copy must exist.
	err := s.all(ctx, func(r *placeRow) error {
		switch {
		case r.table == keyspace.Replica:
			d.Of[DigestReplicas].AddHash(r.hash.At(s.places[s.self]))
			return nil
		case r.order != triple.SPO:
			d.Of[digestOf(r.order)].AddHash(r.hash)
			return nil
		}
		d.Of[DigestSPO].AddHash(r.hash)
		// If the graph is named, GSPO must have the row, too.
		if s.resolver.Key(triple.GSPO) != nil {
			d.Of[DigestNamed].AddHash(r.hash)
		}
		for _, place := range s.resolver.Base() {
			if place.Extra {
				d.Of[DigestDue].AddHash(r.hash.At(s.place(place.Machine)))
			}
		}
		return nil
	})
	return d, fault.Wrap("make digests", err)
}

// List calls do with this machine's rows in some buckets. It skips a row if it does not decode.
func (sn *Snapshot) List(ctx context.Context, how ScrubScan, in Buckets, do func(ListedRow) error) error {
	d := recovery.NewDigest(how.Secret, how.BucketBits)
	s := newPlaceScanner(sn, how, &ScrubDigests{})
	var key []byte
	err := s.all(ctx, func(r *placeRow) error {
		// 1. Check the row's own bucket, then the buckets of the extra copies it requires.
		replica := r.table == keyspace.Replica
		listed := !replica && in.ordered(d, r.hash) || replica && in.placed(d, r.hash.At(s.place(s.self)))
		if !listed && !replica && r.order == triple.SPO {
			for _, place := range s.resolver.Base() {
				listed = listed || place.Extra && in.placed(d, r.hash.At(s.place(place.Machine)))
			}
		}
		if !listed {
			return nil
		}
		// 2. Return the key in SPO, because all copies of a triple must compare equal.
		var err error
		if key, _, err = recovery.AppendVersion(key[:0], triple.SPO, r.version); err != nil {
			return err
		}
		key = append(key, r.key[len(r.version):]...)
		return do(ListedRow{Order: r.order, Replica: replica, Annotation: triple.IsAnnotation(r.value), Key: key, Hash: r.hash})
	})
	return fault.Wrap("list rows", err)
}

func digestOf(o triple.Order) int {
	for i, order := range triple.Orders {
		if order == o {
			return i
		}
	}
	return DigestSPO
}

// placeScanner reads the rows of this machine's places.
type placeScanner struct {
	sn       *Snapshot
	how      ScrubScan
	found    *ScrubDigests
	self     trie.MachineID
	resolver *recovery.Resolver
	hasher   *recovery.Digest
	lowest   triple.Stamp // of the floors
	places   map[trie.MachineID]recovery.Hash
	segment  trie.Segment // of the row before
	mine     bool
	known    bool
}

// placeRow is a row or an annotation. If it is of SPO, the resolver has resolved its places.
type placeRow struct {
	table               byte
	order               triple.Order
	key, value, version []byte
	hash                recovery.Hash
}

func newPlaceScanner(sn *Snapshot, how ScrubScan, found *ScrubDigests) *placeScanner {
	s := &placeScanner{
		sn: sn, how: how, found: found, self: sn.store.MachineID(), resolver: how.Joint.Resolver(),
		hasher: recovery.NewDigest(how.Secret, 0), places: map[trie.MachineID]recovery.Hash{},
	}
	s.place(s.self)
	first := true
	for _, stamp := range how.Floors {
		if first || stamp.Less(s.lowest) {
			s.lowest, first = stamp, false
		}
	}
	return s
}

func (s *placeScanner) place(m trie.MachineID) recovery.Hash {
	p, ok := s.places[m]
	if !ok {
		p = s.how.Secret.Place(uint64(m))
		s.places[m] = p
	}
	return p
}

// paceBytes is the number of bytes read between two pauses.
const paceBytes = 256 << 10

// all calls do with the committed rows.
func (s *placeScanner) all(ctx context.Context, do func(*placeRow) error) error {
	if err := s.sn.Begin(ctx); err != nil {
		return err
	}
	defer s.sn.End()
	it, err := s.sn.NewIter([]byte{keyspace.Storage}, []byte{keyspace.Local})
	if err != nil {
		return err
	}
	defer it.Close()
	// 1. Pause when enough was read, because a scan must not delay requests.
	read := 0
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if read += len(it.Key()) + len(value); read >= paceBytes {
			if err := s.how.Pace(ctx, read); err != nil {
				return err
			}
			if s.sn.store.db.Closing() {
				return store.ErrClosed
			}
			read = 0
		}
		// 2. Count a damaged row and go on, because the scrub repairs it.
		r := placeRow{table: it.Key()[0], key: it.Key()[1:], value: value}
		if ok, err := s.look(&r); err != nil {
			s.found.Unreadable++
		} else if ok {
			if err := do(&r); err != nil {
				return err
			}
		}
	}
	return it.Error()
}

// look completes a row. It returns false if the row does not count, and an error if the row is
// damaged.
func (s *placeScanner) look(r *placeRow) (bool, error) {
	// 1. Find the key of the triple's row, because places depend on it.
	isAnnotation := triple.IsAnnotation(r.value)
	if triple.IsTombstone(r.value) {
		return false, nil
	}
	r.version = r.key
	if isAnnotation {
		var ok bool
		if r.version, _, ok = triple.CutAnnotation(r.key); !ok {
			return false, fmt.Errorf("%w: an annotation's value under a version's key", store.ErrCorrupt)
		}
	}
	if len(r.version) == 0 {
		return false, fmt.Errorf("%w: a row without a key", store.ErrCorrupt)
	}
	// 2. A row outside this machine's segments is foreign.
	r.order = triple.Order(r.version[0])
	if r.table == keyspace.Storage && !s.owns(r.version) {
		s.found.Foreign++
		return false, nil
	}
	// 3. Resolve the triple only if needed: if the stamp is below all floors, it is committed.
	stamp, err := s.sn.store.loadEpochs.stampOf(r.value)
	if err != nil {
		return false, err
	}
	resolved := r.order == triple.SPO || !stamp.Less(s.lowest)
	if resolved {
		if err := s.resolver.Resolve(r.version); err != nil {
			return false, err
		}
	}
	if r.hash, err = s.hasher.Hash(r.key, r.value); err != nil {
		return false, err
	}
	// 4. Count all rows, even those in flight, but add only committed rows to digests.
	if r.table == keyspace.Storage && !isAnnotation {
		s.found.Rows[digestOf(r.order)]++
	} else if isAnnotation && r.table == keyspace.Storage && r.order == triple.SPO {
		s.found.Annotations++
	}
	if stamp.Less(s.lowest) || stamp.Epoch > s.how.Epoch {
		return true, nil
	}
	sequencer, ok := s.resolver.Sequencer()
	return ok && s.how.Floors.isBelow(sequencer, stamp), nil
}

// owns reports whether a key is in a segment of this machine.
func (s *placeScanner) owns(key []byte) bool {
	if !s.known || !s.segment.Contains(key) {
		s.segment, s.known = s.how.Joint.Base.Trie.Lookup(key), true
		s.mine = s.how.Joint.Base.Placement.Owner(s.segment) == s.self
	}
	return s.mine
}

// PlaceState is the content of one place under a key.
type PlaceState struct {
	Value []byte       // nil if the row is missing
	Stamp triple.Stamp // zero if the value is damaged
}

// PlaceStates returns the values of keys in tables, all of one moment. unsettled reports for each
// key if this machine has operations in flight on its triple, whose key in SPO is in spo.
func (s *Store) PlaceStates(ctx context.Context, tables []byte, keys, spo [][]byte) (states []PlaceState, pending []bool, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return nil, nil, fault.Wrap("look up rows", err)
	}
	defer sn.Close()
	// 1. List the batches after the snapshot, because a visible row is then committed or listed.
	open := map[string]bool{}
	for _, b := range s.InFlightBatches() {
		for i := range b.Operations {
			open[string(b.Operations[i].Key)] = true
		}
	}
	// 2. Look up each key in the snapshot.
	states, pending = make([]PlaceState, len(keys)), make([]bool, len(keys))
	var key []byte
	for i := range keys {
		if i%database.CheckMoves == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		key = append(append(key[:0], tables[i]), keys[i]...)
		if states[i].Value, err = sn.Value(key); err != nil {
			return nil, nil, fault.Wrap("look up rows", err)
		}
		if states[i].Value != nil {
			// If the value is damaged, its stamp stays zero.
			if stamp, err := s.loadEpochs.stampOf(states[i].Value); err == nil {
				states[i].Stamp = stamp
			}
		}
		pending[i] = open[string(spo[i])]
	}
	return states, pending, nil
}
