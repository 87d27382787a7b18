// The owner: it holds a snapshot of its store for a request, and sends rows.

package reads

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// owner reads the store of this machine, for itself and for other members.
type owner struct{ *common }

// held is a snapshot of this machine's store, taken under a view. The machine must own the ranges
// of the request in it.
type held struct {
	owner    *owner
	epoch    uint64
	snapshot *replica.Snapshot
	undo     *replica.Undo // of operations that are not committed
	until    time.Time
}

// hold takes a snapshot for ranges, under the view of an epoch. The sequence of the steps matters:
//
//  1. Enter the gate, because the view must not change before the snapshot is taken. A snapshot
//     from before the adoption may lack rows that the view expects here.
//  2. Take the snapshot.
//  3. Check the lease. It proves that no operation was acknowledged without this machine before
//     the snapshot.
//  4. List the batches in flight, because a batch enters the list before its rows are visible. With
//     wait, wait until all are committed; see holdRows for requests that need not wait.
func (ow *owner) hold(ctx context.Context, epoch uint64, ranges []triple.Range, wait bool) (*held, error) {
	h, err := ow.enter(epoch, ranges, false)
	if err == nil && wait {
		if err = h.waitCommitted(ctx, h.inFlightIn(ranges, nil)); err != nil {
			err = errors.Join(err, h.close())
		}
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// holdRows is hold for a request that reads rows. If the request does not wait, the rows are those before the
// operations that are not committed.
func (ow *owner) holdRows(ctx context.Context, q *request) (*held, error) {
	h, err := ow.enter(q.epoch, q.ranges, q.replicas)
	if err != nil {
		return nil, err
	}
	if q.wait {
		err = h.waitCommitted(ctx, h.inFlightIn(q.ranges, q.filter))
	} else {
		err = h.undoOpen(ctx, q)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// enter does steps 1 to 3 of hold.
func (ow *owner) enter(epoch uint64, ranges []triple.Range, replicas bool) (*held, error) {
	leave, err := ow.member.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	// 1. Within the gate: this machine must own the ranges.
	v := ow.member.View()
	if v.Phase == recovery.Ingest {
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "a bulk load is being taken in")
	}
	if j := v.Joint(); replicas && (j.Phase == recovery.Serve || !j.BaseLive.Contains(ow.self)) {
		return nil, peer.Refuse(peer.CodeNotOwner, epoch, "this machine's extra replicas are not to be read")
	} else if replicas {
		ranges = nil
	}
	for _, requested := range ranges {
		for s := range v.Joint().Reads().Trie.Range(requested.Lo, requested.Hi) {
			if owner, ok := v.Joint().ReaderOf(s); !ok || owner != ow.self {
				return nil, peer.Refuse(peer.CodeNotOwner, epoch, "segment %d is not this machine's to read", s.ID)
			}
		}
	}
	// 2. The snapshot comes before the lease: see hold.
	sn, err := ow.store.Snapshot()
	if err != nil {
		return nil, err
	}
	if err := ow.member.Lease(); err != nil {
		return nil, errors.Join(peer.Refuse(peer.CodeLease, epoch, "%v", err), sn.Close())
	}
	return &held{owner: ow, epoch: epoch, snapshot: sn, until: time.Now().Add(ow.options.MaxScan)}, nil
}

// undoOpen makes the rows of a request those of its tick, or those before the operations that their sequencers have
// not committed after the snapshot. They may be left out, because no writer has an answer from them, and no reader
// has returned them. So a holder that does not answer stops no reader.
//
// If this machine cannot tell what an operation has overwritten (see [replica.Store.Undoable]), this waits until it is
// committed, or refuses a request with a tick.
func (h *held) undoOpen(ctx context.Context, q *request) error {
	// 1. Wait for what this machine cannot undo. What is committed after the tick must be undone, too.
	at := q.tick != (triple.Stamp{})
	undoable, others := h.owner.store.Undoable(h.inFlightIn(q.ranges, q.filter), h.epoch)
	if err := h.waitCommitted(ctx, others); err != nil || len(undoable) == 0 && !at {
		return err
	}
	// 2. The batches in flight: which of them are not committed, and the ticks of the others.
	var open []replica.Origin
	err := h.inTime(ctx, len(undoable), func(ctx context.Context) (err error) {
		open, err = h.owner.peers.Uncommitted(ctx, undoable, at)
		return err
	})
	if err != nil || len(open) == 0 && !at {
		return err
	}
	// 3. What was there before.
	table := byte(store.TableStorage)
	if q.replicas {
		table = store.TableReplica
	}
	undo, ok := h.owner.store.Undo(open, q.tick, table, q.ranges)
	if !ok && at && len(open) > 0 { // they may be too many only while they are in flight
		if err := h.waitCommitted(ctx, open); err != nil {
			return err
		}
		undo, ok = h.owner.store.Undo(nil, q.tick, table, q.ranges)
	}
	switch {
	case !ok && at:
		return peer.Refuse(peer.CodeTick, h.epoch, "the rows of tick %d are not here any more", q.tick.Sequence)
	case !ok:
		return h.waitCommitted(ctx, open)
	case !undo.Empty():
		h.undo = undo
	}
	return nil
}

// waitCommitted waits until batches are committed.
func (h *held) waitCommitted(ctx context.Context, batches []replica.Origin) error {
	if len(batches) == 0 {
		return nil
	}
	return h.inTime(ctx, len(batches), func(ctx context.Context) error { return h.owner.peers.WaitCommitted(ctx, batches) })
}

// inTime calls do, which learns of batches from their sequencers, with a limit of time. Epoch and lease must
// still hold when it has returned, because a later view may have another sequencer.
func (h *held) inTime(ctx context.Context, batches int, do func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, min(h.owner.options.CommitTimeout, clockOf(ctx).left(h.owner.options.IdleTimeout)))
	defer cancel()
	if err := do(wait); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, store.ErrUnavailable) {
			return err // a retry would fail as well
		}
		return peer.Refuse(peer.CodeUnavailable, h.epoch, "%d batches of operations are not settled: %v", batches, err)
	}
	return h.check()
}

// inFlightIn returns the batches in flight with operations in ranges that pass a filter, and maybe committed ones. A
// batch may come several times. The answer has no rows of the others, so no reader waits for their sequencers.
func (h *held) inFlightIn(ranges []triple.Range, f *filter) (all []replica.Origin) {
	var pass func(string) bool
	if f != nil {
		pass = func(key string) bool {
			ok, err := f.match([]byte(key))
			return ok || err != nil
		}
	}
	for _, requested := range ranges {
		all = append(all, h.owner.store.InFlight(requested, pass)...)
	}
	return all
}

// check returns an error if the epoch has changed, or the lease or the time is over.
func (h *held) check() error {
	if now := h.owner.member.View().Epoch; now != h.epoch {
		return peer.Refuse(peer.CodeEpoch, now, "the read began in epoch %d", h.epoch)
	}
	if err := h.owner.member.Lease(); err != nil {
		return peer.Refuse(peer.CodeLease, h.epoch, "%v", err)
	}
	if time.Now().After(h.until) {
		return errTooLong
	}
	return nil
}

func (h *held) close() error { return h.snapshot.Close() }

// checkRows is the number of rows between two checks of epoch and lease: a few milliseconds.
const checkRows = 1 << 10

// beat is the greatest interval between two frames of an owner.
const beat = time.Second

// serve decodes a request, holds a snapshot for it, and calls do.
func (ow *owner) serve(ctx context.Context, body []byte, do func(context.Context, *request, *held) error) error {
	var q request
	if err := peer.Decode(body, q.fields); err != nil {
		return peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	return ow.guard(ctx, q.epoch, func(ctx context.Context) error { return ow.serveHeld(ctx, &q, do) })
}

// guard calls do with a context of Options.MaxScan. It turns an error into a refusal, because the
// error may be sent to another machine.
func (ow *owner) guard(ctx context.Context, epoch uint64, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ow.options.MaxScan, errTooLong)
	defer cancel()
	err := do(ctx)
	var refusal *peer.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return peer.Refuse(refusal.Code, refusal.Epoch, "%s", refusal.Message)
	case errors.Is(err, errTooLong) || errors.Is(context.Cause(ctx), errTooLong):
		return peer.Refuse(peer.CodeUnavailable, epoch, "the request took longer than %s", ow.options.MaxScan)
	case errors.Is(err, store.ErrClosed):
		return peer.Refuse(peer.CodeClosing, epoch, "%v", err)
	case errors.Is(err, store.ErrCorrupt):
		return peer.Refuse(peer.CodeUnavailable, epoch, "%v", err)
	}
	return err
}

func (ow *owner) serveHeld(ctx context.Context, q *request, do func(context.Context, *request, *held) error) (err error) {
	h, err := ow.holdRows(ctx, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return do(ctx, q, h)
}

// serveScan answers reads/scan.
func (ow *owner) serveScan(ctx context.Context, _ peer.Header, body []byte, w *peer.Writer) error {
	return ow.serve(ctx, body, func(ctx context.Context, q *request, h *held) error {
		return h.send(ctx, q, w)
	})
}

// writer takes the frames of an answer. *peer.Writer implements it.
type writer interface {
	Write(frame []byte) error
	Flush() error
}

// pulse sends a frame if none was sent for an interval of beat.
type pulse struct {
	w    writer
	last time.Time
}

func (p *pulse) Write(frame []byte) error {
	p.last = time.Now()
	return p.w.Write(frame)
}

func (p *pulse) beat() error {
	if time.Since(p.last) < beat {
		return nil
	}
	if err := p.Write([]byte{frameBeat}); err != nil {
		return err
	}
	return p.w.Flush()
}

// send sends the rows of a request, and a last frame: whether more are left.
func (h *held) send(ctx context.Context, q *request, w writer) error {
	p := &pulse{w, time.Now()}
	packed := &packer{write: p.Write, most: frameBytes}
	more, last, err := h.pack(ctx, q, packed, 0, p.beat)
	switch {
	case err != nil:
		return err
	case more:
		return h.end(packed, appendMore(nil, last))
	}
	return h.end(packed, []byte{frameEnd})
}

// pack packs the rows of a request. It stops at the budget of the request, or after it has read looks
// rows; 0 is no limit. Then more is true, and last is the last row. It calls pause every checkRows
// rows.
func (h *held) pack(ctx context.Context, q *request, packed *packer, looks int, pause func() error) (more bool, last row, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return false, last, err
	}
	defer in.close()
	// If a row does not pass, it counts for looks, but not for the limit.
	looked, sent := 0, int64(0)
	// 1. Check epoch and lease every checkRows rows, because a long scan must not outlive them.
	for in.next() {
		if looked++; looked%checkRows == 0 {
			if err := errors.Join(h.check(), pause()); err != nil {
				return false, last, err
			}
		}
		pass, err := q.pass(in.row.key)
		if err != nil {
			return false, last, err
		}
		if pass {
			if err := packed.add(in.row); err != nil {
				return false, last, err
			}
			if sent++; sent == q.limit {
				break
			}
		}
		// 2. Stop if the looks or the bytes are used up. The key must be copied, because the
		// iterator reuses it.
		if looked == looks || q.budget > 0 && packed.sent+int64(len(packed.frame)) >= q.budget {
			return true, row{index: in.row.index, key: bytes.Clone(in.row.key)}, nil
		}
	}
	return false, last, in.err()
}

// end sends the last frames of an answer, if epoch and lease are still valid.
func (h *held) end(p *packer, last []byte) error {
	if err := h.check(); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.write(last)
}

// pass reports whether a row belongs to the answer.
func (q *request) pass(key []byte) (bool, error) {
	if q.kept != nil {
		if kept, err := q.kept(key); err != nil || !kept {
			return false, err
		}
	}
	if q.filter == nil {
		return true, nil
	}
	return q.filter.match(key)
}

// serveRows answers reads/rows.
func (ow *owner) serveRows(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	err = ow.serve(ctx, body, func(ctx context.Context, q *request, h *held) error {
		answer, err = h.gather(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// gather returns the first rows of a request as one message.
func (h *held) gather(ctx context.Context, q *request) ([]byte, error) {
	if q.budget == 0 || q.budget > calledBytes {
		q.budget = calledBytes
	}
	packed := &packer{}
	more, last, err := h.pack(ctx, q, packed, calledLooks, func() error { return nil })
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil, err
	}
	return appendRows(nil, packed.frame, more, last), nil
}
