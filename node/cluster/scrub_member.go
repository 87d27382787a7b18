package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// This file is a member's side of scrubs and checks.

// scanRequest asks a member to go through its rows.
type scanRequest struct {
	secret  recovery.Secret
	bits    int
	rate    int64 // bytes a second; 0 is any
	floors  node.Floors
	buckets [2][]int // of orders and of places, for lists
}

// maxBucketBits bounds the memory of digests: 1.5 MiB each.
const maxBucketBits = 16

func (r *scanRequest) encode() []byte {
	var e peer.Encoder
	e.Bytes(r.secret[:])
	e.Byte(byte(r.bits))
	e.Uvarint(uint64(r.rate))
	encodeFloors(&e, r.floors)
	for _, list := range r.buckets {
		e.Uvarint(uint64(len(list)))
		for _, b := range list {
			e.Uvarint(uint64(b))
		}
	}
	return e.Data()
}

func parseScan(body []byte) (r scanRequest, err error) {
	d := peer.NewDecoder(body)
	copy(r.secret[:], d.Bytes())
	r.bits, r.rate = int(d.Byte()), int64(d.Uvarint())
	r.floors = decodeFloors(d)
	for i := range r.buckets {
		for range d.Count(1) {
			r.buckets[i] = append(r.buckets[i], int(d.Uvarint()))
		}
	}
	if err := d.End(); err != nil {
		return r, err
	}
	if r.bits > maxBucketBits {
		return r, fmt.Errorf("a digest of 2^%d buckets", r.bits)
	}
	for _, list := range r.buckets {
		for _, b := range list {
			if b < 0 || b >= 1<<r.bits {
				return r, fmt.Errorf("bucket %d of 2^%d", b, r.bits)
			}
		}
	}
	return r, nil
}

// set returns a list of buckets as node.Buckets has them.
func (r *scanRequest) set(i int) []bool {
	if len(r.buckets[i]) == 0 {
		return nil
	}
	set := make([]bool, 1<<r.bits)
	for _, b := range r.buckets[i] {
		set[b] = true
	}
	return set
}

func (r *scanRequest) scan(v *view.View) node.SlotScan {
	return node.SlotScan{
		Joint: v.Joint(), Secret: r.secret, BucketBits: r.bits, Floors: r.floors, Epoch: v.Epoch,
		Pace: func(ctx context.Context, bytes int) error { return pause(ctx, bytes, r.rate) },
	}
}

// beginScan is what scans of rows begin with. The snapshot is taken at once, so that
// those of all members are of about one moment.
func (n *Node) beginScan(ctx context.Context, epoch uint64, body []byte) (r scanRequest, v *view.View, sn *node.Snapshot, during context.Context, end func(), err error) {
	if r, err = parseScan(body); err != nil {
		return r, nil, nil, nil, nil, err
	}
	select {
	case n.upkeep.scans <- struct{}{}:
	default:
		return r, nil, nil, nil, nil, refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(n.upkeep.scans), n.self)
	}
	if v, err = n.atRest(epoch); err == nil {
		sn, err = n.store.Snapshot()
	}
	if err != nil {
		<-n.upkeep.scans
		return r, nil, nil, nil, nil, err
	}
	during, cancel := n.during(ctx, epoch)
	return r, v, sn, during, func() {
		cancel()
		sn.Close()
		<-n.upkeep.scans
	}, nil
}

// handleDigest answers with the digests of this machine's rows.
func (n *Node) handleDigest(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := n.beginScan(ctx, epoch, body)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := sn.Digests(ctx, r.scan(v))
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	for _, rows := range d.Rows {
		e.Uvarint(uint64(rows))
	}
	e.Uvarint(uint64(d.Annotations))
	e.Uvarint(uint64(d.Foreign))
	e.Uvarint(uint64(d.Unreadable))
	for _, digest := range d.Of {
		e.Bytes(digest.Append(nil))
	}
	return e.Data(), nil
}

func parseDigests(body []byte, r *scanRequest) (*node.SlotDigests, error) {
	d, found := peer.NewDecoder(body), &node.SlotDigests{}
	for i := range found.Rows {
		found.Rows[i] = int64(d.Uvarint())
	}
	found.Annotations, found.Foreign, found.Unreadable = int64(d.Uvarint()), int64(d.Uvarint()), int64(d.Uvarint())
	for i := range found.Of {
		var err error
		if found.Of[i], err = recovery.ParseDigest(r.secret, r.bits, d.Bytes()); err != nil {
			return nil, err
		}
	}
	return found, d.End()
}

// listBytes bounds the answer of one member that lists rows.
const listBytes = 16 << 20

// handleList lists this machine's rows in some buckets: whether that is all, and of
// each the order, flags (1: replica, 2: annotation), key and hash.
func (n *Node) handleList(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := n.beginScan(ctx, epoch, body)
	if err != nil {
		return nil, err
	}
	defer end()
	var rows peer.Encoder
	full := fmt.Errorf("more than %d bytes", listBytes)
	err = sn.List(ctx, r.scan(v), node.Buckets{Orders: r.set(0), Places: r.set(1)}, func(row node.ListedRow) error {
		rows.Byte(byte(row.Order))
		flags := byte(0)
		if row.Replica {
			flags |= 1
		}
		if row.Note {
			flags |= 2
		}
		rows.Byte(flags)
		rows.Bytes(row.Key)
		rows.Bytes(row.Hash[:])
		if rows.Len() > listBytes {
			return full
		}
		return nil
	})
	if err != nil && rows.Len() <= listBytes {
		return nil, err
	}
	var e peer.Encoder
	e.Bool(err == nil)
	if err == nil {
		e.Bytes(rows.Data())
	}
	return e.Data(), nil
}

// parseList returns the rows of a list; complete is false where there were too many.
func parseList(body []byte) (rows []node.ListedRow, complete bool, err error) {
	d := peer.NewDecoder(body)
	if complete = d.Bool(); !complete {
		return nil, false, d.End()
	}
	list := peer.NewDecoder(d.Bytes())
	if err := d.End(); err != nil {
		return nil, false, err
	}
	for list.More() {
		row := node.ListedRow{Order: triple.Order(list.Byte())}
		flags := list.Byte()
		row.Replica, row.Note = flags&1 != 0, flags&2 != 0
		row.Key = list.Bytes()
		copy(row.Hash[:], list.Bytes())
		rows = append(rows, row)
	}
	return rows, true, list.End()
}

// lookup asks a member for what it holds of a triple in one slot.
type lookup struct {
	table    byte
	key, spo []byte
}

func encodeLook(all []lookup) []byte {
	var e peer.Encoder
	e.Uvarint(uint64(len(all)))
	for _, l := range all {
		e.Byte(l.table)
		e.Bytes(l.key)
		e.Bytes(l.spo)
	}
	return e.Data()
}

// handleLook answers with the number of the last purge, from before it looked, and
// with what is there: a flag (1: a row, 2: unsettled), the stamp and the value.
func (n *Node) handleLook(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	var tables []byte
	var keys, spo [][]byte
	for range d.Count(3) {
		tables, keys, spo = append(tables, d.Byte()), append(keys, d.Bytes()), append(spo, d.Bytes())
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tables, func(t byte) bool { return t != node.TableStorage && t != node.TableReplica }) {
		return nil, fmt.Errorf("look up rows: %w: no such table", node.ErrInvalid)
	}
	var e peer.Encoder
	e.Uvarint(n.upkeep.purgeNumber())
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	states, unsettled, err := n.store.SlotStates(ctx, tables, keys, spo)
	if err != nil {
		return nil, err
	}
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	for i, s := range states {
		flags := byte(0)
		if s.Value != nil {
			flags |= 1
		}
		if unsettled[i] {
			flags |= 2
		}
		e.Byte(flags)
		encodeStamp(&e, s.Stamp)
		e.Bytes(s.Value)
	}
	return e.Data(), nil
}

// slotState is what one slot holds.
type slotState struct {
	slot      recovery.Slot
	value     []byte // nil where there is no row
	stamp     triple.Stamp
	unsettled bool
}

func parseLook(body []byte, slots []recovery.Slot) (number uint64, states []slotState, err error) {
	d := peer.NewDecoder(body)
	number = d.Uvarint()
	for _, slot := range slots {
		flags := d.Byte()
		s := slotState{slot: slot, unsettled: flags&2 != 0, stamp: decodeStamp(d)}
		if value := d.Bytes(); flags&1 != 0 {
			s.value = slices.Clip(append([]byte{}, value...))
		}
		states = append(states, s)
	}
	return number, states, d.End()
}

func encodeRepair(number uint64, rows []node.FillRow) []byte {
	var e peer.Encoder
	e.Uvarint(number)
	e.Bytes(encodeFill(rows))
	return e.Data()
}

// handleRepair writes rows that a scrub has found to be missing here. It refuses them
// where a purge began since they were looked at: what they say may have been deleted
// since, and the tombstone, too.
func (n *Node) handleRepair(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	number, encoded := d.Uvarint(), d.Bytes()
	if err := d.End(); err != nil {
		return nil, err
	}
	rows, err := parseFill(encoded)
	if err != nil {
		return nil, err
	}
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	if err := n.repairHere(ctx, epoch, number, rows); err != nil {
		return nil, err
	}
	return nil, n.store.SyncSettled(ctx)
}

func (n *Node) repairHere(ctx context.Context, epoch, number uint64, rows []node.FillRow) error {
	leave, err := n.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	if last := n.upkeep.purgeNumber(); last > number {
		return refuse(peer.CodeUnavailable, epoch, "purge %d has begun since the rows were looked at", last)
	}
	defer n.store.BreakJournal()()
	return untilKnown(ctx, n.ctx, func(ctx context.Context) error { return n.store.Fill(ctx, rows) }, n.store.Drain)
}

// handleCheck verifies this machine's store by itself.
func (n *Node) handleCheck(ctx context.Context, epoch uint64, _ []byte) ([]byte, error) {
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	select {
	case n.upkeep.scans <- struct{}{}:
		defer func() { <-n.upkeep.scans }()
	default:
		return nil, refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(n.upkeep.scans), n.self)
	}
	ctx, cancel := n.during(ctx, epoch)
	defer cancel()
	report, err := n.store.Check(ctx)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return json.Marshal(report)
}
