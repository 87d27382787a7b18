// Scans: a member's answers from passes over its rows.

package upkeep

import (
	"context"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
)

// rowServer answers scrubs and checks of any leader from the rows of this machine.
type rowServer struct {
	*members
	purger *purger
	scans  chan struct{} // has a token for each pass over this machine's rows
}

// maxScans bounds the concurrent passes over a machine's rows.
const maxScans = 2

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

func (r *scanRequest) fields(c *peer.Coder) {
	secret := r.secret[:]
	c.Bytes(&secret)
	if c.Reading() {
		copy(r.secret[:], secret)
	}
	peer.Number(c, &r.bits, math.MaxInt)
	peer.Number(c, &r.rate, math.MaxInt64)
	if r.bits > maxBucketBits {
		c.Fail("a digest of 2^%d buckets", r.bits)
	}
	codeFloors(c, &r.floors)
	for i := range r.buckets {
		peer.List(c, &r.buckets[i], 1, func(b *int, c *peer.Coder) {
			if peer.Number(c, b, math.MaxInt); *b >= 1<<r.bits {
				c.Fail("bucket %d of 2^%d", *b, r.bits)
			}
		})
	}
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

func (r *scanRequest) scan(v *view.View) replica.ScrubScan {
	return replica.ScrubScan{
		Joint: v.Joint(), Secret: r.secret, BucketBits: r.bits, Floors: r.floors, Epoch: v.Epoch,
		Pace: func(ctx context.Context, bytes int) error { return pause(ctx, bytes, r.rate) },
	}
}

// beginScan decodes the request of a scan and takes its snapshot. It must do so at once, because
// the snapshots of all members must be of about the same time. The caller must call end.
func (rs *rowServer) beginScan(ctx context.Context, epoch uint64, body []byte) (r scanRequest, v *view.View, sn *replica.Snapshot, during context.Context, end func(), err error) {
	if err = peer.Decode(body, r.fields); err != nil {
		return r, nil, nil, nil, nil, err
	}
	select {
	case rs.scans <- struct{}{}:
	default:
		return r, nil, nil, nil, nil, peer.Refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(rs.scans), rs.gate.MachineID())
	}
	if v, err = rs.AtRest(epoch); err == nil {
		sn, err = rs.store.Snapshot()
	}
	if err != nil {
		<-rs.scans
		return r, nil, nil, nil, nil, err
	}
	during, cancel := rs.gate.EpochContext(ctx, epoch)
	return r, v, sn, during, func() {
		cancel()
		sn.Close()
		<-rs.scans
	}, nil
}

// handleDigest answers with the digests of this machine's rows.
func (rs *rowServer) handleDigest(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := rs.beginScan(ctx, epoch, body)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := sn.Digests(ctx, r.scan(v))
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, r.codeDigests(d)), nil
}

// codeDigests codes the answer to the request.
func (r *scanRequest) codeDigests(d *replica.ScrubDigests) func(*peer.Coder) {
	return func(c *peer.Coder) {
		for i := range d.Rows {
			peer.Number(c, &d.Rows[i], math.MaxInt64)
		}
		for _, n := range []*int64{&d.Annotations, &d.Foreign, &d.Unreadable} {
			peer.Number(c, n, math.MaxInt64)
		}
		for i := range d.Of {
			if !c.Reading() {
				c.Encoder().Bytes(d.Of[i].Append(nil))
				continue
			}
			var err error
			if d.Of[i], err = recovery.ParseDigest(r.secret, r.bits, c.Decoder().Bytes()); err != nil {
				c.Fail("%v", err)
			}
		}
	}
}

// listBytes bounds the list of one member.
const listBytes = 16 << 20

// handleList answers with this machine's rows in some buckets: a flag (1: the list is
// complete), and of each row the order, flags (1: replica, 2: annotation), key and hash.
func (rs *rowServer) handleList(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	r, v, sn, ctx, end, err := rs.beginScan(ctx, epoch, body)
	if err != nil {
		return nil, err
	}
	defer end()
	full := fmt.Errorf("more than %d bytes", listBytes)
	// 1. List the rows, and stop if they are too many for one message.
	rows := peer.Encode(0, func(c *peer.Coder) {
		err = sn.List(ctx, r.scan(v), replica.Buckets{Orders: r.set(0), Places: r.set(1)}, func(row replica.ListedRow) error {
			if codeListed(&row, c); c.Encoder().Len() > listBytes {
				return full
			}
			return nil
		})
	})
	if err != nil && len(rows) <= listBytes {
		return nil, err
	}
	// 2. Answer with all of them or none.
	complete := err == nil
	return peer.Encode(8+len(rows), codeList(&complete, &rows)), nil
}

func codeListed(row *replica.ListedRow, c *peer.Coder) {
	hash := row.Hash[:]
	peer.Byte(c, &row.Order)
	c.Flags(&row.Replica, &row.Annotation)
	c.Bytes(&row.Key, &hash)
	if c.Reading() {
		copy(row.Hash[:], hash)
	}
}

func codeList(complete *bool, rows *[]byte) func(*peer.Coder) {
	return func(c *peer.Coder) {
		if c.Bool(complete); *complete {
			c.Bytes(rows)
		}
	}
}

// parseList returns the rows of a list. complete is false if there were too many.
func parseList(body []byte) (rows []replica.ListedRow, complete bool, err error) {
	var all []byte
	if err := peer.Decode(body, codeList(&complete, &all)); err != nil {
		return nil, false, err
	}
	err = peer.Decode(all, func(c *peer.Coder) {
		for c.Decoder().HasMore() {
			var row replica.ListedRow
			codeListed(&row, c)
			rows = append(rows, row)
		}
	})
	return rows, complete, err
}
