package node

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is this machine's part of the comparison of a whole cluster: digests of
// its rows, and lists of those in some buckets. The digests of all machines add up to
// those of the orders, which must agree.

// Kinds of digests. Those of the orders are of the versions in this machine's
// segments, and their annotations; Named are those of SPO that are in named graphs,
// which GSPO must have. Due are the extra replicas that rows of SPO ask for, each at
// its place, and Replicas are those that are there.
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

// SlotScan is how the rows of slots are gone through.
type SlotScan struct {
	Joint      *recovery.Joint // of the view, which is idle
	Secret     recovery.Secret
	BucketBits int
	// Floors leave out what may not be settled: rows whose stamps are not below the
	// floor of their triple's sequencer.
	Floors Floors
	// Epoch is the view's. Rows of later ones are not left out: they make no sense.
	Epoch uint64
	// Pace is called with the bytes of rows that were read; it may wait, and its error
	// ends the scan.
	Pace func(ctx context.Context, bytes int) error
}

// SlotDigests is what a scan has found.
type SlotDigests struct {
	Of [DigestKinds]*recovery.Digest
	// Rows are the versions in each order, in the order of triple.Orders, those that
	// may not be settled too.
	Rows        [orderCount]int64
	Annotations int64 // beside versions of SPO
	Foreign     int64 // rows in segments of other machines, which should not be here
	Unreadable  int64 // rows that make no sense
}

// ListedRow is a row that a scan lists. Its slice is valid until the next one.
type ListedRow struct {
	Order   triple.Order
	Replica bool
	Note    bool // an annotation
	// Key is that of the version in SPO and, of an annotation, what follows it.
	Key  []byte
	Hash recovery.Hash
}

// Buckets say which rows are listed: those whose hash is in one of Orders, and, of
// extra replicas and the rows of SPO that ask for them, those whose hash at the
// place is in one of Places. Both have 2^BucketBits elements, or none.
type Buckets struct{ Orders, Places []bool }

func (b Buckets) ordered(d *recovery.Digest, h recovery.Hash) bool {
	return len(b.Orders) > 0 && b.Orders[d.Bucket(h)]
}

func (b Buckets) placed(d *recovery.Digest, h recovery.Hash) bool {
	return len(b.Places) > 0 && b.Places[d.Bucket(h)]
}

// Digests makes the digests of this machine's rows.
func (sn *Snapshot) Digests(ctx context.Context, how SlotScan) (*SlotDigests, error) {
	d := &SlotDigests{}
	for i := range d.Of {
		d.Of[i] = recovery.NewDigest(how.Secret, how.BucketBits)
	}
	s := newSlotScanner(sn, how, d)
	err := s.all(ctx, func(r *slotRow) error {
		switch {
		case r.table == tableReplica:
			d.Of[DigestReplicas].AddHash(r.hash.At(s.places[s.self]))
			return nil
		case r.order != triple.SPO:
			d.Of[digestOf(r.order)].AddHash(r.hash)
			return nil
		}
		d.Of[DigestSPO].AddHash(r.hash)
		if s.resolver.Key(triple.GSPO) != nil {
			d.Of[DigestNamed].AddHash(r.hash)
		}
		for _, slot := range s.resolver.Base() {
			if slot.Extra {
				d.Of[DigestDue].AddHash(r.hash.At(s.place(slot.Machine)))
			}
		}
		return nil
	})
	return d, wrap("make digests", err)
}

// List calls do with this machine's rows in some buckets. Those that do not decode
// are passed over.
func (sn *Snapshot) List(ctx context.Context, how SlotScan, in Buckets, do func(ListedRow) error) error {
	d := recovery.NewDigest(how.Secret, how.BucketBits)
	s := newSlotScanner(sn, how, &SlotDigests{})
	var key []byte
	err := s.all(ctx, func(r *slotRow) error {
		replica := r.table == tableReplica
		listed := !replica && in.ordered(d, r.hash) || replica && in.placed(d, r.hash.At(s.place(s.self)))
		if !listed && !replica && r.order == triple.SPO {
			for _, slot := range s.resolver.Base() {
				listed = listed || slot.Extra && in.placed(d, r.hash.At(s.place(slot.Machine)))
			}
		}
		if !listed {
			return nil
		}
		var err error
		if key, _, err = recovery.AppendVersion(key[:0], triple.SPO, r.version); err != nil {
			return err
		}
		key = append(key, r.key[len(r.version):]...)
		return do(ListedRow{Order: r.order, Replica: replica, Note: triple.IsAnnotation(r.value), Key: key, Hash: r.hash})
	})
	return wrap("list rows", err)
}

func digestOf(o triple.Order) int {
	for i, order := range triple.Orders {
		if order == o {
			return i
		}
	}
	return DigestSPO
}

// slotScanner goes through the rows of this machine's slots.
type slotScanner struct {
	sn       *Snapshot
	how      SlotScan
	found    *SlotDigests
	self     trie.MachineID
	resolver *recovery.Resolver
	hasher   *recovery.Digest
	lowest   triple.Stamp // of the floors
	places   map[trie.MachineID]recovery.Hash
	segment  trie.Segment // of the row before
	mine     bool
	known    bool
}

// slotRow is a version or annotation. Of one of SPO the resolver knows the slots.
type slotRow struct {
	table               byte
	order               triple.Order
	key, value, version []byte
	hash                recovery.Hash
}

func newSlotScanner(sn *Snapshot, how SlotScan, found *SlotDigests) *slotScanner {
	s := &slotScanner{
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

func (s *slotScanner) place(m trie.MachineID) recovery.Hash {
	p, ok := s.places[m]
	if !ok {
		p = s.how.Secret.Place(uint64(m))
		s.places[m] = p
	}
	return p
}

// paceBytes is how many bytes of rows are read between two pauses.
const paceBytes = 256 << 10

// all calls do with the rows that are settled.
func (s *slotScanner) all(ctx context.Context, do func(*slotRow) error) error {
	if err := s.sn.begin(ctx); err != nil {
		return err
	}
	defer s.sn.store.uses.end()
	it, err := s.sn.pebble.NewIter(&pebble.IterOptions{LowerBound: []byte{tableStorage}, UpperBound: []byte{tableLocal}})
	if err != nil {
		return err
	}
	defer it.Close()
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
			if s.sn.store.uses.closing.Load() {
				return ErrClosed
			}
			read = 0
		}
		r := slotRow{table: it.Key()[0], key: it.Key()[1:], value: value}
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

// look completes a row; it is false where the row does not count. An error says that
// it makes no sense.
func (s *slotScanner) look(r *slotRow) (bool, error) {
	note := triple.IsAnnotation(r.value)
	if triple.IsTombstone(r.value) {
		return false, nil
	}
	r.version = r.key
	if note {
		var ok bool
		if r.version, _, ok = triple.CutAnnotation(r.key); !ok {
			return false, fmt.Errorf("%w: an annotation's value under a version's key", ErrCorrupt)
		}
	}
	if len(r.version) == 0 {
		return false, fmt.Errorf("%w: a row without a key", ErrCorrupt)
	}
	r.order = triple.Order(r.version[0])
	if r.table == tableStorage && !s.owns(r.version) {
		s.found.Foreign++
		return false, nil
	}
	stamp, err := s.sn.store.stampOf(r.value)
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
	if r.table == tableStorage && !note {
		s.found.Rows[digestOf(r.order)]++
	} else if note && r.table == tableStorage && r.order == triple.SPO {
		s.found.Annotations++
	}
	if stamp.Less(s.lowest) || stamp.Epoch > s.how.Epoch {
		return true, nil
	}
	sequencer, ok := s.resolver.Sequencer()
	return ok && s.how.Floors.below(sequencer, stamp), nil
}

// owns reports whether a key is in a segment of this machine.
func (s *slotScanner) owns(key []byte) bool {
	if !s.known || !s.segment.Contains(key) {
		s.segment, s.known = s.how.Joint.Base.Trie.Lookup(key), true
		s.mine = s.how.Joint.Base.Placement.Owner(s.segment) == s.self
	}
	return s.mine
}

// SlotState is what is stored under the key of one slot.
type SlotState struct {
	Value []byte       // nil where there is no row
	Stamp triple.Stamp // zero where the value makes no sense
}

// SlotStates returns what tables hold under keys, as of one moment. The second
// answer tells which keys are of triples, named by their keys in SPO, of which this
// machine has operations that are not known to be settled.
func (s *Store) SlotStates(ctx context.Context, tables []byte, keys, spo [][]byte) (states []SlotState, unsettled []bool, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return nil, nil, wrap("look up rows", err)
	}
	defer sn.Close()
	// After the snapshot: what it shows and is not listed is settled.
	open := map[string]bool{}
	for _, b := range s.UnsettledBatches() {
		for i := range b.Operations {
			open[string(b.Operations[i].Key)] = true
		}
	}
	states, unsettled = make([]SlotState, len(keys)), make([]bool, len(keys))
	var key []byte
	for i := range keys {
		if i%checkMoves == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		key = append(append(key[:0], tables[i]), keys[i]...)
		if states[i].Value, err = sn.get(key); err != nil {
			return nil, nil, wrap("look up rows", err)
		}
		if states[i].Value != nil {
			if stamp, err := s.stampOf(states[i].Value); err == nil {
				states[i].Stamp = stamp
			}
		}
		unsettled[i] = open[string(spo[i])]
	}
	return states, unsettled, nil
}
