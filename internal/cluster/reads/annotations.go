// Annotations of one triple, from any owner of one of its rows.

package reads

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// annotatedRowRequest is a request for a row and its annotations.
type annotatedRowRequest struct {
	epoch uint64
	key   []byte // of the row, in the order of the owner
	one   bool   // only the annotation of application id; otherwise all with greater IDs
	id    string
}

// annotationsBytes bounds the bytes of annotations in one answer. A single annotation may exceed it.
const annotationsBytes = 1 << 20

func (q *annotatedRowRequest) fields(c *peer.Coder) {
	c.Uvarint(&q.epoch)
	c.Bytes(&q.key)
	c.Bool(&q.one)
	c.String(&q.id)
	if c.Reading() {
		_, _, err := triple.SplitKey(q.key)
		c.Check(err)
	}
}

func encodeAnnotated(n *replica.AnnotatedRow) []byte {
	return peer.Encode(annotatedSize(n), codeAnnotated(n))
}

// annotatedSize returns about the length of an answer.
func annotatedSize(n *replica.AnnotatedRow) int {
	size := 32
	for _, a := range n.Annotations {
		size += len(a.ApplicationID) + len(a.Data) + 24
	}
	return size
}

// codeAnnotated codes an answer. Decoded data share memory with the message.
func codeAnnotated(n *replica.AnnotatedRow) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Bool(&n.Live)
		c.Uvarint(&n.Stamp.Epoch, &n.Stamp.Sequence)
		c.Bool(&n.More)
		peer.List(c, &n.Annotations, 2, func(a *store.Annotation, c *peer.Coder) {
			c.String(&a.ApplicationID)
			c.Bytes(&a.Data)
		})
		if n.More && len(n.Annotations) == 0 {
			c.Fail("no annotations, but more of them")
		}
	}
}

// keyRange returns the range of one key.
func keyRange(key []byte) triple.Range {
	return triple.Range{Lo: key, Hi: append(key[:len(key):len(key)], 0)}
}

// codeVersioned codes an answer with the versions of the annotations: epochs and sequences in their
// order follow the answer of codeAnnotated.
func codeVersioned(n *replica.AnnotatedRow) func(*peer.Coder) {
	return func(c *peer.Coder) {
		codeAnnotated(n)(c)
		for i := range n.Annotations {
			v := &n.Annotations[i].Version
			c.Uvarint(&v.Epoch, &v.Sequence)
		}
	}
}

// serveVersions answers reads/versions.
func (ow *owner) serveVersions(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	n, err := ow.serveAnnotated(ctx, body)
	if err != nil {
		return nil, err
	}
	return peer.Encode(annotatedSize(&n), codeVersioned(&n)), nil
}

func (ow *owner) serveAnnotated(ctx context.Context, body []byte) (n replica.AnnotatedRow, err error) {
	var q annotatedRowRequest
	if err := peer.Decode(body, q.fields); err != nil {
		return n, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	err = ow.guard(ctx, q.epoch, func(ctx context.Context) (err error) {
		n, err = ow.annotationsLocal(ctx, &q)
		return err
	})
	return n, err
}

// annotationsLocal reads this machine's store, as the owner of the row. The answer has only committed
// operations.
func (ow *owner) annotationsLocal(ctx context.Context, q *annotatedRowRequest) (n replica.AnnotatedRow, err error) {
	h, err := ow.hold(ctx, q.epoch, []triple.Range{keyRange(q.key)}, true)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return h.annotatedRow(ctx, store.TableStorage, q)
}

func (h *held) annotatedRow(ctx context.Context, table byte, q *annotatedRowRequest) (n replica.AnnotatedRow, err error) {
	if q.one {
		n, err = h.snapshot.RowWithAnnotation(ctx, table, q.key, q.id)
	} else {
		n, err = h.snapshot.AnnotatedRow(ctx, table, q.key, q.id, annotationsBytes)
	}
	return n, errors.Join(err, h.check())
}

// annotated returns a triple's row with its annotations, from the owner of SPO or, if it is down,
// from the owner of another order. Each of them has all annotations. It retries if a retry may
// help.
func (sn *Snapshot) annotated(ctx context.Context, spo []byte, one bool, id string) (n replica.AnnotatedRow, err error) {
	if err := sn.begin(ctx); err != nil {
		return n, err
	}
	t, ctx := sn.retries(ctx)
	for {
		v := sn.reads.member.View()
		if n, err = sn.newAttempt(v).tryAnnotated(ctx, spo, one, id); err == nil {
			return n, ctx.Err()
		}
		if err := t.wait(ctx, v, err); err != nil {
			return n, err
		}
	}
}

// tryAnnotated is one try of annotated under one view.
func (at attempt) tryAnnotated(ctx context.Context, spo []byte, one bool, id string) (n replica.AnnotatedRow, err error) {
	// 1. Read from the first order with a live owner. SPO comes first; a triple of the default
	// graph has no key in GSPO.
	unreadable := errNoOrder
	for _, o := range triple.Orders {
		key, ok, err := recovery.AppendVersion(nil, o, spo)
		if err != nil {
			return n, err
		}
		if !ok {
			continue
		}
		if err := at.readable(keyRange(key)); err != nil {
			unreadable = err
			continue
		}
		owner, live := at.view.Joint().Reader(key)
		if !live {
			continue
		}
		// The owner's answer is final: if it fails, the caller may retry.
		q := &annotatedRowRequest{at.view.Epoch, key, one, id}
		if owner == at.reads.self {
			n, err = at.reads.annotationsLocal(ctx, q)
		} else {
			n, err = at.reads.annotationsRemote(ctx, at.view, q, owner)
		}
		if err == nil && o != triple.SPO {
			at.degraded.Store(true)
		}
		return n, err
	}
	// 2. If all owners are down, this machine may still have an extra replica.
	if at.reads.isSoleHolder(at.view) && at.readable(keyRange(spo)) == nil {
		return at.annotatedCopy(ctx, spo, one, id)
	}
	return n, unreadable
}

// annotatedCopy reads the annotations of a triple from this machine's extra replica, because no live
// machine has another row of it.
func (at attempt) annotatedCopy(ctx context.Context, spo []byte, one bool, id string) (n replica.AnnotatedRow, err error) {
	h, err := at.reads.holdAsSoleHolder(ctx, at.view, []triple.Range{keyRange(spo)})
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	at.degraded.Store(true)
	return h.annotatedRow(ctx, store.TableReplica, &annotatedRowRequest{at.view.Epoch, spo, one, id})
}

// Annotation returns the annotation of an application on t, nil if there is none or t does not exist.
// The caller owns the result.
func (sn *Snapshot) Annotation(ctx context.Context, t triple.Triple, applicationID string) (*store.Annotation, error) {
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	n, err := sn.annotated(ctx, key, true, applicationID)
	if err != nil || len(n.Annotations) == 0 {
		return nil, err
	}
	return &n.Annotations[0], nil
}

// Annotations returns the annotations of t by application ID. An error ends the answer. If they are
// many or long, they come in several parts, each as of its own moment. If the triple is deleted
// between two parts, the rest is missing.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[store.Annotation, error] {
	return func(yield func(store.Annotation, error) bool) {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		for after := ""; ; {
			n, err := sn.annotated(ctx, key, false, after)
			if err != nil {
				yield(store.Annotation{}, err)
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

// Version looks up a triple by its key in SPO, and the annotation of an application. It returns the
// stamp of its row, whether it exists, and the version of the annotation, zero if there is none.
func (sn *Snapshot) Version(ctx context.Context, key []byte, applicationID string) (stamp, version triple.Stamp, live bool, err error) {
	n, err := sn.annotated(ctx, key, true, applicationID)
	if len(n.Annotations) > 0 {
		version = n.Annotations[0].Version
	}
	return n.Stamp, version, n.Live, err
}
