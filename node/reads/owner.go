// The owner's side: a machine's own store, read for itself or for another.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// held is a snapshot of this machine's store that was taken under a view in
// which the machine answers for what is read.
type held struct {
	reads    *Reads
	epoch    uint64
	snapshot *node.Snapshot
	until    time.Time
}

// hold takes a snapshot for ranges, under the view of an epoch. With settle it
// waits until all that it shows in them is settled.
//
// The order matters. In the gate the view cannot change: a snapshot from before
// the adoption could lack rows that the view takes to be here. The lease is
// checked after the snapshot: it proves that no operation was acknowledged
// without this machine before the snapshot was taken. Unsettled is asked after it
// too: batches enter that list before their rows can be seen.
func (r *Reads) hold(ctx context.Context, epoch uint64, ranges []triple.Range, settle bool) (*held, error) {
	return r.holdTable(ctx, epoch, ranges, false, settle)
}

// holdTable is hold, or, with replicas, holds the extra replicas of this machine.
func (r *Reads) holdTable(ctx context.Context, epoch uint64, ranges []triple.Range, replicas, settle bool) (*held, error) {
	h, err := r.enter(epoch, ranges, replicas)
	if err != nil {
		return nil, err
	}
	if settle {
		if err := h.settle(ctx, ranges); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	return h, nil
}

func (r *Reads) enter(epoch uint64, ranges []triple.Range, replicas bool) (*held, error) {
	leave, err := r.cluster.Enter(epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	v := r.cluster.View()
	if v.Phase == recovery.Ingest {
		return nil, refuse(peer.CodeUnavailable, epoch, "a bulk load is being taken in")
	}
	if j := v.Joint(); replicas && (j.Phase == recovery.Serve || !j.BaseLive.Contains(r.cluster.Self())) {
		return nil, refuse(peer.CodeNotOwner, epoch, "this machine's extra replicas are not to be read")
	} else if replicas {
		ranges = nil
	}
	for _, asked := range ranges {
		for s := range v.Joint().Reads().Trie.Range(asked.Lo, asked.Hi) {
			if owner, ok := v.Joint().ReaderOf(s); !ok || owner != r.cluster.Self() {
				return nil, refuse(peer.CodeNotOwner, epoch, fmt.Sprintf("segment %d is not this machine's to read", s.ID))
			}
		}
	}
	sn, err := r.store.Snapshot()
	if err != nil {
		return nil, err
	}
	if err := r.cluster.Lease(); err != nil {
		return nil, errors.Join(refuse(peer.CodeLease, epoch, err.Error()), sn.Close())
	}
	return &held{r, epoch, sn, time.Now().Add(r.options.MaxScan)}, nil
}

func refuse(code peer.Code, epoch uint64, message string) *peer.Refusal {
	return &peer.Refusal{Code: code, Epoch: epoch, Message: message}
}

// settle waits until the operations in ranges are settled.
func (h *held) settle(ctx context.Context, ranges []triple.Range) error {
	batches := h.unsettled(ranges)
	if len(batches) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, h.reads.options.Settle)
	defer cancel()
	if err := h.reads.cluster.WaitSettled(wait, batches); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, node.ErrUnavailable) {
			return err // another try would be in vain
		}
		return refuse(peer.CodeUnavailable, h.epoch, fmt.Sprintf("%d batches of operations are not settled: %v", len(batches), err))
	}
	return h.check()
}

// unsettled returns the batches with operations in ranges that may not be settled.
// One may be there for each range.
func (h *held) unsettled(ranges []triple.Range) (all []node.Origin) {
	for _, asked := range ranges {
		all = append(all, h.reads.store.Unsettled(asked)...)
	}
	return all
}

// check returns an error unless epoch and lease are still those of the read.
func (h *held) check() error {
	if now := h.reads.cluster.View().Epoch; now != h.epoch {
		return refuse(peer.CodeEpoch, now, fmt.Sprintf("the read began in epoch %d", h.epoch))
	}
	if err := h.reads.cluster.Lease(); err != nil {
		return refuse(peer.CodeLease, h.epoch, err.Error())
	}
	if time.Now().After(h.until) {
		return errTooLong
	}
	return nil
}

func (h *held) close() error { return h.snapshot.Close() }

// checkRows is how many rows lie between two checks of epoch and lease: a few
// milliseconds.
const checkRows = 1 << 10

// beat is how often an owner says something at least.
const beat = time.Second

// serve reads a request, holds a snapshot for it, and answers with do.
func (r *Reads) serve(ctx context.Context, body []byte, settle bool, do func(context.Context, *request, *held) error) error {
	q, err := parseRequest(body)
	if err != nil {
		return refuse(peer.CodeStranger, 0, err.Error())
	}
	return r.guard(ctx, q.epoch, func(ctx context.Context) error { return r.serveHeld(ctx, q, settle, do) })
}

// guard answers with do, for so long at most, and turns its error into what may be
// told to another machine.
func (r *Reads) guard(ctx context.Context, epoch uint64, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.MaxScan, errTooLong)
	defer cancel()
	err := do(ctx)
	var refusal *peer.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return refuse(refusal.Code, refusal.Epoch, refusal.Message)
	case errors.Is(err, errTooLong) || errors.Is(context.Cause(ctx), errTooLong):
		return refuse(peer.CodeUnavailable, epoch, fmt.Sprintf("the request took longer than %s", r.options.MaxScan))
	case errors.Is(err, node.ErrClosed):
		return refuse(peer.CodeClosing, epoch, err.Error())
	case errors.Is(err, node.ErrCorrupt):
		return refuse(peer.CodeUnavailable, epoch, err.Error())
	}
	return err
}

func (r *Reads) serveHeld(ctx context.Context, q *request, settle bool, do func(context.Context, *request, *held) error) (err error) {
	h, err := r.holdTable(ctx, q.epoch, q.ranges, q.replicas, settle)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return do(ctx, q, h)
}

// serveScan answers reads/scan.
func (r *Reads) serveScan(ctx context.Context, _ peer.Header, body []byte, w *peer.Writer) error {
	return r.serve(ctx, body, true, func(ctx context.Context, q *request, h *held) error {
		return h.send(ctx, q, w)
	})
}

// writer takes the frames of an answer: *peer.Writer is one.
type writer interface {
	Write(frame []byte) error
	Flush() error
}

// pulse sends a beat where nothing was sent for some time.
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

// send sends the rows of a request, and whether they are all.
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

// pack packs the rows of a request. Where there are more than its budget allows,
// or than looks may be looked at (0: as many as there are), last is where they go
// on. It calls pause from time to time.
func (h *held) pack(ctx context.Context, q *request, packed *packer, looks int, pause func() error) (more bool, last row, err error) {
	in, err := h.rows(ctx, q)
	if err != nil {
		return false, last, err
	}
	defer in.close()
	looked, sent := 0, int64(0)
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
		if looked == looks || q.budget > 0 && packed.sent+int64(len(packed.frame)) >= q.budget {
			return true, row{index: in.row.index, key: bytes.Clone(in.row.key)}, nil
		}
	}
	return false, last, in.err()
}

// end sends the last frames of an answer, if it may still be given.
func (h *held) end(p *packer, last []byte) error {
	if err := h.check(); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.write(last)
}

// pass reports whether a row is one of those asked for.
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
