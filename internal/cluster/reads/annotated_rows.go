// Rows together with the annotations of their triples.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// annotatedRows and annotatedBytes bound the rows waiting for their annotations.
const (
	annotatedRows  = 1024
	annotatedBytes = 1 << 20
)

// annotator collects rows, requests their annotations from the owners, and yields them.
type annotator struct {
	snapshot *Snapshot
	yield    func(store.Row, error) bool
	limit    int64 // of rows; 0 is none
	rows     []store.Row
	bytes    int
}

// add adds a copy of a row. It returns false if the reader needs no more rows.
func (a *annotator) add(ctx context.Context, row store.Row) bool {
	a.rows = append(a.rows, store.Row{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
	a.bytes += len(row.Key) + len(row.Value)
	most := int64(annotatedRows)
	if a.limit > 0 {
		most = min(most, a.limit)
	}
	if int64(len(a.rows)) < most && a.bytes < annotatedBytes {
		return true
	}
	return a.flush(ctx)
}

// flush yields the added rows. If a triple was deleted since its row was read, it is left out.
// Its annotations may be deleted too, and a row must be as of one moment. If annotations did not
// fit into the owners' answers, they are looked up one triple at a time, because memory must be
// bounded.
func (a *annotator) flush(ctx context.Context) bool {
	// 1. Request the annotations of all rows at once, because each message takes a round trip.
	keys, found, err := a.snapshot.annotatedAll(ctx, a.rows)
	if err != nil {
		a.yield(store.Row{}, err)
		return false
	}
	// 2. Yield the rows in their order. If the annotations of one are missing, fetch them alone.
	for i, row := range a.rows {
		rowData := found[i].rowData
		found[i].rowData = replica.AnnotatedRow{} // frees it when the row is passed on
		if !found[i].done {
			if rowData, err = a.snapshot.annotatedFully(ctx, keys[i]); err != nil {
				a.yield(store.Row{}, err)
				return false
			}
		}
		if !rowData.Live {
			continue
		}
		row.Annotations = rowData.Annotations
		if !a.yield(row, nil) {
			return false
		}
		if a.limit--; a.limit == 0 {
			return false
		}
	}
	a.rows, a.bytes = a.rows[:0], 0
	return true
}

// annotatedAll returns the keys of rows in SPO and the annotations of their triples. It sends one
// message to each owner. If a triple is missing in the answer, of some annotationsBytes, it is not
// done.
func (sn *Snapshot) annotatedAll(ctx context.Context, rows []store.Row) (keys [][]byte, found []answered, err error) {
	// 1. The owner of SPO answers, so each row needs its key in SPO.
	keys = make([][]byte, len(rows))
	for i, row := range rows {
		_, terms, err := triple.SplitKey(row.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("read: %w: %w", store.ErrCorrupt, err)
		}
		keys[i] = triple.AppendKeyOf(nil, triple.SPO, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
	}
	if err := sn.begin(ctx); err != nil {
		return nil, nil, err
	}
	// 2. Group the keys by owner. If a key has no live owner, it stays undone, and the caller
	// looks it up alone.
	found = make([]answered, len(keys))
	v := sn.reads.member.View()
	groups := map[trie.MachineID][]int{}
	for i, key := range keys {
		if sn.newAttempt(v).readable(keyRange(key)) != nil {
			continue
		}
		if owner, live := v.Joint().Reader(key); live {
			groups[owner] = append(groups[owner], i)
		}
	}
	// 3. Query all owners at the same time.
	var running sync.WaitGroup
	for owner, of := range groups {
		running.Go(func() { sn.newAttempt(v).annotatedGroup(ctx, owner, keys, of, found) })
	}
	running.Wait()
	return keys, found, ctx.Err()
}

// annotatedGroup queries one owner for the annotations of its triples. Triples without an answer stay not
// done.
func (at attempt) annotatedGroup(ctx context.Context, owner trie.MachineID, keys [][]byte, of []int, found []answered) {
	q := &annotationsRequest{epoch: at.view.Epoch}
	for _, i := range of {
		q.keys = append(q.keys, keys[i])
	}
	var answer []answered
	var err error
	if owner == at.reads.self {
		answer, err = at.reads.annotationsOfManyLocal(ctx, q)
	} else {
		var text []byte
		if text, err = at.reads.call(ctx, at.view, owner, methodAnnotations, peer.Encode(64*len(q.keys), q.fields)); err == nil {
			answer = make([]answered, len(of))
			err = peer.Decode(text, codeAnnotations(answer))
		}
	}
	if err != nil {
		return // flush retries triple by triple, also from other orders
	}
	for at, i := range of {
		found[i] = answer[at]
	}
}

// annotatedFully looks up one triple with all of its annotations. Those of more than
// annotationsBytes are read in parts, each as of its own moment. It begins again if the triple was
// deleted and added between two parts, because the annotations of the first parts are deleted
// then.
func (sn *Snapshot) annotatedFully(ctx context.Context, key []byte) (all replica.AnnotatedRow, err error) {
	for after := ""; ; {
		n, err := sn.annotated(ctx, key, false, after)
		if err != nil || !n.Live {
			return replica.AnnotatedRow{}, err
		}
		if all.Live && n.Stamp != all.Stamp {
			all, after = replica.AnnotatedRow{}, ""
			continue
		}
		all.Live, all.Stamp = true, n.Stamp
		all.Annotations = append(all.Annotations, n.Annotations...)
		if !n.More {
			return all, nil
		}
		after = n.Annotations[len(n.Annotations)-1].ApplicationID
	}
}

// annotationsRequest is a request for the annotations of keys in SPO.
type annotationsRequest struct {
	epoch uint64
	keys  [][]byte
}

// answered is the answer for one key. done is false if it did not fit into the message.
type answered struct {
	rowData replica.AnnotatedRow
	done    bool
}

func (q *annotationsRequest) fields(c *peer.Coder) {
	c.Uvarint(&q.epoch)
	peer.List(c, &q.keys, 1, func(key *[]byte, c *peer.Coder) {
		if c.Bytes(key); c.Reading() {
			_, _, err := triple.SplitKey(*key)
			c.Check(err)
		}
	})
}

// codeAnnotations codes an answer: for each key a byte, 1 if it is done, and then the length,
// uvarint, and the bytes of encodeAnnotated.
func codeAnnotations(answer []answered) func(*peer.Coder) {
	return func(c *peer.Coder) {
		for i := range answer {
			a := &answer[i]
			if c.Bool(&a.done); !a.done {
				continue
			}
			if e := c.Encoder(); e != nil {
				e.Bytes(encodeAnnotated(&a.rowData))
				continue
			}
			c.Check(peer.Decode(c.Decoder().Bytes(), codeAnnotated(&a.rowData)))
			a.done = !a.rowData.More
		}
	}
}

// serveAnnotations answers reads/annotations.
func (ow *owner) serveAnnotations(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	var q annotationsRequest
	if err := peer.Decode(body, q.fields); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%v", err)
	}
	err = ow.guard(ctx, q.epoch, func(ctx context.Context) error {
		all, err := ow.annotationsOfManyLocal(ctx, &q)
		answer = peer.Encode(32*len(all), codeAnnotations(all))
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// annotationsOfManyLocal reads the annotations from this machine's store, as the owner of the keys.
func (ow *owner) annotationsOfManyLocal(ctx context.Context, q *annotationsRequest) (answer []answered, err error) {
	ranges := make([]triple.Range, len(q.keys))
	for i, key := range q.keys {
		ranges[i] = keyRange(key)
	}
	h, err := ow.hold(ctx, q.epoch, ranges, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	answer = make([]answered, len(q.keys))
	left := annotationsBytes
	for i, key := range q.keys {
		if left <= 0 {
			break
		}
		n, err := h.snapshot.AnnotatedRow(ctx, store.TableStorage, key, "", left)
		if err != nil {
			return nil, err
		}
		answer[i] = answered{n, !n.More}
		for _, a := range n.Annotations {
			left -= len(a.ApplicationID) + len(a.Data)
		}
	}
	return answer, h.check()
}
