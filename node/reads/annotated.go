// Rows together with what is annotated on their triples.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// annotatedRows is how many rows are held while their annotations are asked for, and
// annotatedBytes about how many bytes.
const (
	annotatedRows  = 1024
	annotatedBytes = 1 << 20
)

// annotator gathers rows, asks the owners for their annotations, and passes them on.
type annotator struct {
	snapshot *Snapshot
	yield    func(node.Row, error) bool
	limit    int64 // of rows; 0 is none
	rows     []node.Row
	bytes    int
}

// add takes a row, which it copies. It returns false where no more are wanted.
func (a *annotator) add(ctx context.Context, row node.Row) bool {
	a.rows = append(a.rows, node.Row{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
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

// flush passes on what was added. A triple that was deleted since its row was read is
// left out: there is no moment of which it could be told with its annotations. Annotations
// that are not in the answers of the owners are looked up when it is their triple's turn, so
// that those of one triple are held at a time.
func (a *annotator) flush(ctx context.Context) bool {
	keys, found, err := a.snapshot.notedAll(ctx, a.rows)
	if err != nil {
		a.yield(node.Row{}, err)
		return false
	}
	for i, row := range a.rows {
		noted := found[i].noted
		found[i].noted = node.Noted{}
		if !found[i].done {
			if noted, err = a.snapshot.notedWhole(ctx, keys[i]); err != nil {
				a.yield(node.Row{}, err)
				return false
			}
		}
		if !noted.Live {
			continue
		}
		row.Annotations = noted.Annotations
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

// notedAll returns the keys of rows in SPO, and what is annotated on their triples, by one
// message to each owner. What is not in its answer, of some notesBytes, is left open.
func (sn *Snapshot) notedAll(ctx context.Context, rows []node.Row) (keys [][]byte, found []answered, err error) {
	keys = make([][]byte, len(rows))
	for i, row := range rows {
		_, terms, err := triple.SplitKey(row.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("read: %w: %w", node.ErrCorrupt, err)
		}
		keys[i] = triple.AppendKeyOf(nil, triple.SPO, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
	}
	if err := sn.begin(ctx); err != nil {
		return nil, nil, err
	}
	found = make([]answered, len(keys))
	v := sn.reads.cluster.View()
	groups := map[trie.MachineID][]int{}
	for i, key := range keys {
		if sn.readable(v, exactly(key)) != nil {
			continue
		}
		if owner, live := v.Joint().Reader(key); live {
			groups[owner] = append(groups[owner], i)
		}
	}
	var running sync.WaitGroup
	for owner, of := range groups {
		running.Go(func() { sn.notedGroup(ctx, v, owner, keys, of, found) })
	}
	running.Wait()
	return keys, found, ctx.Err()
}

// notedGroup asks one owner for the triples of which it has the versions. What it
// does not answer stays open.
func (sn *Snapshot) notedGroup(ctx context.Context, v *view.View, owner trie.MachineID, keys [][]byte, of []int, found []answered) {
	q := &annotationsRequest{epoch: v.Epoch}
	for _, i := range of {
		q.keys = append(q.keys, keys[i])
	}
	var answer []answered
	var err error
	if owner == sn.reads.cluster.Self() {
		answer, err = sn.reads.annotationsHere(ctx, q)
	} else {
		var text []byte
		if text, err = sn.reads.call(ctx, v, owner, methodAnnotations, q.encode()); err == nil {
			answer, err = parseAnnotations(text, len(of))
		}
	}
	if err != nil {
		return // one by one it is tried again, or another order is asked
	}
	for at, i := range of {
		found[i] = answer[at]
	}
}

// notedWhole looks up one triple with all of its annotations. Those of more than
// notesBytes are read in parts, each of its own moment. It begins again if the triple was
// deleted and added between two parts, because the first ones are gone then.
func (sn *Snapshot) notedWhole(ctx context.Context, key []byte) (all node.Noted, err error) {
	for after := ""; ; {
		n, err := sn.noted(ctx, key, false, after)
		if err != nil || !n.Live {
			return node.Noted{}, err
		}
		if all.Live && n.Stamp != all.Stamp {
			all, after = node.Noted{}, ""
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

// annotationsRequest asks an owner of keys in SPO for what is annotated on them.
type annotationsRequest struct {
	epoch uint64
	keys  [][]byte
}

// answered is what an owner says of one key. It leaves open what has too many
// annotations for a message.
type answered struct {
	noted node.Noted
	done  bool
}

func (q *annotationsRequest) encode() []byte {
	e := peer.NewEncoder(64 * len(q.keys))
	e.Uvarint(q.epoch)
	e.Uvarint(uint64(len(q.keys)))
	for _, key := range q.keys {
		e.Bytes(key)
	}
	return e.Data()
}

func parseAnnotationsRequest(b []byte) (*annotationsRequest, error) {
	d := peer.NewDecoder(b)
	q := &annotationsRequest{epoch: d.Uvarint()}
	for range d.Count(1) {
		q.keys = append(q.keys, d.Bytes())
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	for _, key := range q.keys {
		if _, _, err := triple.SplitKey(key); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// encodeAnnotations encodes an answer: each is a byte, 1 where it is answered, and
// then the length uvarint and bytes of what encodeNoted makes.
func encodeAnnotations(answer []answered) []byte {
	e := peer.NewEncoder(32 * len(answer))
	for _, a := range answer {
		e.Bool(a.done)
		if a.done {
			e.Bytes(encodeNoted(&a.noted))
		}
	}
	return e.Data()
}

func parseAnnotations(b []byte, n int) ([]answered, error) {
	d := peer.NewDecoder(b)
	answer := make([]answered, n)
	for i := range answer {
		if !d.Bool() {
			continue
		}
		text := d.Bytes()
		if err := d.Err(); err != nil {
			return nil, err
		}
		noted, err := parseNoted(text)
		if err != nil {
			return nil, err
		}
		answer[i] = answered{noted, !noted.More}
	}
	return answer, d.End()
}

// serveAnnotations answers reads/annotations.
func (r *Reads) serveAnnotations(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	q, err := parseAnnotationsRequest(body)
	if err != nil {
		return nil, refuse(peer.CodeStranger, 0, err.Error())
	}
	err = r.guard(ctx, q.epoch, func(ctx context.Context) error {
		all, err := r.annotationsHere(ctx, q)
		answer = encodeAnnotations(all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// annotationsHere reads this machine's store, as the owner of the keys.
func (r *Reads) annotationsHere(ctx context.Context, q *annotationsRequest) (answer []answered, err error) {
	ranges := make([]triple.Range, len(q.keys))
	for i, key := range q.keys {
		ranges[i] = exactly(key)
	}
	h, err := r.hold(ctx, q.epoch, ranges, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	answer = make([]answered, len(q.keys))
	left := notesBytes
	for i, key := range q.keys {
		if left <= 0 {
			break
		}
		n, err := h.snapshot.Noted(ctx, node.TableStorage, key, "", left)
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
