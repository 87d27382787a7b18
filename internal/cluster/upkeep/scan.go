// Scans: a member's answers from passes over its rows.

package upkeep

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// scanRequest requests a pass over a member's rows.
type scanRequest struct {
	secret  recovery.Secret
	bits    int
	rate    int64 // bytes a second; 0 is any
	floors  replica.Floors
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

// set returns a list of buckets in the form of replica.Buckets.
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

func (r *scanRequest) scan(v *view.View) replica.SlotScan {
	return replica.SlotScan{
		Joint: v.Joint(), Secret: r.secret, BucketBits: r.bits, Floors: r.floors, Epoch: v.Epoch,
		Pace: func(ctx context.Context, bytes int) error { return pause(ctx, bytes, r.rate) },
	}
}

// beginScan decodes the request of a scan and takes its snapshot. It must do so at once, because
// the snapshots of all members must be of about the same time. The caller must call end.
func (u *Upkeep) beginScan(ctx context.Context, epoch uint64, body []byte) (r scanRequest, v *view.View, sn *replica.Snapshot, during context.Context, end func(), err error) {
	if r, err = parseScan(body); err != nil {
		return r, nil, nil, nil, nil, err
	}
	select {
	case u.scans <- struct{}{}:
	default:
		return r, nil, nil, nil, nil, peer.Refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(u.scans), u.gate.Self())
	}
	if v, err = u.AtRest(epoch); err == nil {
		sn, err = u.store.Snapshot()
	}
	if err != nil {
		<-u.scans
		return r, nil, nil, nil, nil, err
	}
	during, cancel := u.gate.During(ctx, epoch)
	return r, v, sn, during, func() {
		cancel()
		sn.Close()
		<-u.scans
	}, nil
}

// handleDigest answers with the digests of this machine's rows.
func (u *Upkeep) handleDigest(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := u.beginScan(ctx, epoch, body)
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

func parseDigests(body []byte, r *scanRequest) (*replica.SlotDigests, error) {
	d, found := peer.NewDecoder(body), &replica.SlotDigests{}
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

// listBytes bounds the list of one member.
const listBytes = 16 << 20

// handleList answers with this machine's rows in some buckets: a flag (1: the list is
// complete), and of each row the order, flags (1: replica, 2: annotation), key and hash.
func (u *Upkeep) handleList(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := u.beginScan(ctx, epoch, body)
	if err != nil {
		return nil, err
	}
	defer end()
	var rows peer.Encoder
	full := fmt.Errorf("more than %d bytes", listBytes)
	// 1. List the rows, and stop if they are too many for one message.
	err = sn.List(ctx, r.scan(v), replica.Buckets{Orders: r.set(0), Places: r.set(1)}, func(row replica.ListedRow) error {
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
	// 2. Answer with all of them or none.
	e.Bool(err == nil)
	if err == nil {
		e.Bytes(rows.Data())
	}
	return e.Data(), nil
}

// parseList returns the rows of a list. complete is false if there were too many.
func parseList(body []byte) (rows []replica.ListedRow, complete bool, err error) {
	d := peer.NewDecoder(body)
	if complete = d.Bool(); !complete {
		return nil, false, d.End()
	}
	list := peer.NewDecoder(d.Bytes())
	if err := d.End(); err != nil {
		return nil, false, err
	}
	for list.More() {
		row := replica.ListedRow{Order: triple.Order(list.Byte())}
		flags := list.Byte()
		row.Replica, row.Note = flags&1 != 0, flags&2 != 0
		row.Key = list.Bytes()
		copy(row.Hash[:], list.Bytes())
		rows = append(rows, row)
	}
	return rows, true, list.End()
}
