// What applications note on a triple, which stands beside each of its versions.

package reads

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// notesRequest asks an owner for a version and what is noted on it.
type notesRequest struct {
	epoch uint64
	key   []byte // of the version, in the order that the owner is asked for
	one   bool   // the annotation of one application, id; else those of greater ids
	id    string
}

// notesBytes is about how many bytes of annotations one answer has at most, or one
// annotation.
const notesBytes = 1 << 20

func (q *notesRequest) encode() []byte {
	e := peer.NewEncoder(len(q.key) + len(q.id) + 16)
	e.Uvarint(q.epoch)
	e.Bytes(q.key)
	e.Bool(q.one)
	e.String(q.id)
	return e.Data()
}

func parseNotesRequest(b []byte) (*notesRequest, error) {
	d := peer.NewDecoder(b)
	q := &notesRequest{epoch: d.Uvarint(), key: d.Bytes(), one: d.Bool(), id: d.String()}
	if err := d.End(); err != nil {
		return nil, err
	}
	_, _, err := triple.SplitKey(q.key)
	return q, err
}

func encodeNoted(n *node.Noted) []byte {
	size := 32
	for _, a := range n.Annotations {
		size += len(a.ApplicationID) + len(a.Data) + 8
	}
	e := peer.NewEncoder(size)
	e.Bool(n.Live)
	e.Uvarint(n.Stamp.Epoch)
	e.Uvarint(n.Stamp.Sequence)
	e.Bool(n.More)
	e.Uvarint(uint64(len(n.Annotations)))
	for _, a := range n.Annotations {
		e.String(a.ApplicationID)
		e.Bytes(a.Data)
	}
	return e.Data()
}

// parseNoted reads an answer; the data share memory with it.
func parseNoted(b []byte) (n node.Noted, err error) {
	d := peer.NewDecoder(b)
	n.Live, n.Stamp.Epoch, n.Stamp.Sequence, n.More = d.Bool(), d.Uvarint(), d.Uvarint(), d.Bool()
	for range d.Count(2) {
		n.Annotations = append(n.Annotations, node.Annotation{ApplicationID: d.String(), Data: d.Bytes()})
	}
	if err := d.End(); err != nil {
		return n, err
	}
	if n.More && len(n.Annotations) == 0 {
		return n, peer.ErrMessage
	}
	return n, nil
}

// exactly returns the range of one key.
func exactly(key []byte) triple.Range {
	return triple.Range{Lo: key, Hi: append(key[:len(key):len(key)], 0)}
}

// serveNotes answers reads/notes.
func (r *Reads) serveNotes(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	q, err := parseNotesRequest(body)
	if err != nil {
		return nil, refuse(peer.CodeStranger, 0, err.Error())
	}
	err = r.guard(ctx, q.epoch, func(ctx context.Context) error {
		n, err := r.notesHere(ctx, q)
		answer = encodeNoted(&n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// notesHere reads this machine's store, as its owner. All operations on the triple
// are settled then that the answer shows.
func (r *Reads) notesHere(ctx context.Context, q *notesRequest) (n node.Noted, err error) {
	h, err := r.hold(ctx, q.epoch, []triple.Range{exactly(q.key)}, true)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return h.noted(ctx, node.TableStorage, q)
}

func (h *held) noted(ctx context.Context, table byte, q *notesRequest) (n node.Noted, err error) {
	if q.one {
		n, err = h.snapshot.NotedOne(ctx, table, q.key, q.id)
	} else {
		n, err = h.snapshot.Noted(ctx, table, q.key, q.id, notesBytes)
	}
	return n, errors.Join(err, h.check())
}

// notesThere asks another machine.
func (r *Reads) notesThere(ctx context.Context, v *view.View, q *notesRequest, owner trie.MachineID) (n node.Noted, err error) {
	err = r.inParts(ctx, &request{epoch: q.epoch, view: v, ranges: []triple.Range{exactly(q.key)}}, func(ctx context.Context, _ *request) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer r.stall(cancel).Stop()
		answer, err := r.cluster.Call(ctx, owner, methodNotes, q.encode())
		if err == nil {
			n, err = parseNoted(answer)
		}
		if err != nil {
			return &remoteError{owner, err}
		}
		return nil
	})
	return n, err
}

// noted asks the owner of a triple's version in SPO, or where that is dead, of
// another one: each has it with all that is noted on it. It tries again where that
// may help.
func (sn *Snapshot) noted(ctx context.Context, spo []byte, one bool, id string) (n node.Noted, err error) {
	if err := sn.begin(ctx); err != nil {
		return n, err
	}
	t := trial{reads: sn.reads}
	for {
		v := sn.reads.cluster.View()
		if n, err = sn.notedUnder(ctx, v, spo, one, id); err == nil {
			return n, ctx.Err()
		}
		if err := t.again(ctx, v, err); err != nil {
			return n, err
		}
	}
}

func (sn *Snapshot) notedUnder(ctx context.Context, v *view.View, spo []byte, one bool, id string) (n node.Noted, err error) {
	nobody := errNoOrder
	for _, o := range triple.Orders {
		key, ok, err := recovery.AppendVersion(nil, o, spo)
		if err != nil {
			return n, err
		}
		if !ok {
			continue
		}
		if err := sn.readable(v, exactly(key)); err != nil {
			nobody = err
			continue
		}
		owner, live := v.Joint().Reader(key)
		if !live {
			continue
		}
		q := &notesRequest{v.Epoch, key, one, id}
		if owner == sn.reads.cluster.Self() {
			n, err = sn.reads.notesHere(ctx, q)
		} else {
			n, err = sn.reads.notesThere(ctx, v, q, owner)
		}
		if err == nil && o != triple.SPO {
			sn.degraded.Store(true)
		}
		return n, err
	}
	if sn.reads.hasAll(v) && sn.readable(v, exactly(spo)) == nil {
		return sn.notedReplica(ctx, v, spo, one, id)
	}
	return n, nobody
}

// notedReplica reads what is noted on a triple of which this machine has the only replica
// left, and no version.
func (sn *Snapshot) notedReplica(ctx context.Context, v *view.View, spo []byte, one bool, id string) (n node.Noted, err error) {
	h, err := sn.reads.holdWhole(ctx, v, []triple.Range{exactly(spo)})
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	sn.degraded.Store(true)
	return h.noted(ctx, node.TableReplica, &notesRequest{v.Epoch, spo, one, id})
}

// Annotation returns what an application noted on t; nil where it noted nothing or
// the triple is not there. The caller owns the result.
func (sn *Snapshot) Annotation(ctx context.Context, t triple.Triple, applicationID string) ([]byte, error) {
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	n, err := sn.noted(ctx, key, true, applicationID)
	if err != nil || len(n.Annotations) == 0 {
		return nil, err
	}
	return n.Annotations[0].Data, nil
}

// Annotations returns what applications noted on t, by application id. An error ends
// the answer. Many or long ones come in several parts, each of its own moment; where
// the triple is deleted meanwhile the rest is missing.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[node.Annotation, error] {
	return func(yield func(node.Annotation, error) bool) {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		for after := ""; ; {
			n, err := sn.noted(ctx, key, false, after)
			if err != nil {
				yield(node.Annotation{}, err)
				return
			}
			for _, a := range n.Annotations {
				if !yield(a, nil) {
					return
				}
				after = a.ApplicationID
			}
			if !n.More {
				return
			}
		}
	}
}

// Version looks up a triple, by its key in SPO: whether it is there, and the stamp of
// its version.
func (sn *Snapshot) Version(ctx context.Context, key []byte) (stamp triple.Stamp, live bool, err error) {
	n, err := sn.noted(ctx, key, true, "")
	return n.Stamp, n.Live, err
}
