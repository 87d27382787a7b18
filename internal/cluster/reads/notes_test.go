// Tests of reads of annotations and of their messages.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// annotate puts an annotation beside all versions of a triple.
func (w *world) annotate(t triple.Triple, id, data string) {
	w.Helper()
	a := triple.Annotation{Stamp: triple.Stamp{Epoch: 1, Sequence: 1 << 20}, Data: []byte(data)}
	for _, o := range triple.Orders {
		key, _ := triple.AppendKey(nil, o, t)
		if len(key) == 0 {
			continue
		}
		owner := w.layout.Placement.Owner(w.layout.Trie.Lookup(key))
		row := replica.FillRow{Table: store.TableStorage, Key: triple.AppendAnnotationKey(nil, key, id), Value: a.Append(nil)}
		for _, m := range w.machines {
			if m.Self() == owner {
				m.fill(w, []replica.FillRow{row})
			}
		}
	}
}

// notesOf returns what is noted on a triple, "id=data" each.
func notesOf(sn *Snapshot, t triple.Triple) (notes []string, err error) {
	for a, err := range sn.Annotations(ctx, t) {
		if err != nil {
			return nil, err
		}
		one, err := sn.Annotation(ctx, t, a.ApplicationID)
		if err != nil || one == nil || !bytes.Equal(one.Data, a.Data) {
			return nil, fmt.Errorf("annotation %q is %q, alone %q, %w", a.ApplicationID, a.Data, one.Bytes(), err)
		}
		notes = append(notes, a.ApplicationID+"="+string(a.Data))
	}
	return notes, nil
}

// Every machine returns the annotations of a triple. If the owner of the first order is dead,
// they come from another order, and the answer is marked as degraded.
func TestNotes(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 4, Options{})
	w.fill(rng, 40, drawn(rng, fewer(200)))
	want := map[int][]string{}
	for i, tr := range w.triples {
		for _, id := range []string{"a", "b", "\x00\xff"} {
			if rng.IntN(2) == 0 {
				data := strings.Repeat(fmt.Sprint(i), rng.IntN(3))
				w.annotate(tr, id, data)
				want[i] = append(want[i], id+"="+data)
			}
		}
	}
	big := []string{"big1", "big2", "big3"} // do not fit into one answer
	for _, id := range big {
		data := strings.Repeat(id, annotationsBytes/6)
		w.annotate(w.triples[0], id, data)
		want[0] = append(want[0], id+"="+data)
	}
	check := func(sn *Snapshot, what string) (degraded int) {
		t.Helper()
		for i, tr := range w.triples {
			one := *sn
			one.degraded = w.snapshot(0).degraded
			got, err := notesOf(&one, tr)
			wanted := map[string]bool{}
			for _, note := range want[i] {
				wanted[note] = true
			}
			for _, note := range got {
				delete(wanted, note)
			}
			alive := false
			for _, o := range triple.Orders {
				if key, _ := triple.AppendKey(nil, o, tr); len(key) > 0 {
					_, live := one.reads.member.View().Joint().Reader(key)
					alive = alive || live
				}
			}
			if !alive && isError(err, store.ErrUnavailable) {
				continue
			}
			if err != nil || len(wanted) > 0 || len(got) != len(want[i]) {
				t.Fatalf("%s: %v: %d notes, want %d; %v", what, tr, len(got), len(want[i]), err)
			}
			key, _ := triple.AppendKey(nil, triple.SPO, tr)
			if stamp, _, live, err := one.Version(ctx, key, "a"); err != nil || !live || stamp.Epoch != 1 {
				t.Fatalf("%s: %v: %v, %v, %v", what, tr, stamp, live, err)
			}
			if _, live := one.reads.member.View().Joint().Reader(key); live == one.Degraded() {
				t.Fatalf("%s: %v: degraded %v", what, tr, one.Degraded())
			}
			if one.Degraded() {
				degraded++
			}
		}
		absent := w.triples[0]
		absent.Subject = iri("nobody")
		if got, err := notesOf(sn, absent); err == nil && len(got) > 0 || err != nil && !isError(err, store.ErrUnavailable) {
			t.Fatalf("of a triple that is not there: %q, %v", got, err)
		}
		return degraded
	}
	for i := range w.machines {
		check(w.snapshot(i), fmt.Sprintf("through machine %d", i))
	}
	degraded := 0
	for i, dead := range w.machines {
		w.adopt(w.viewOf(uint64(2+i), dead))
		w.net.Isolate(fmt.Sprintf("10.0.0.%d", i+1))
		degraded += check(w.snapshot(w.living(rng, dead)), fmt.Sprintf("machine %d dead", i))
		w.net.Heal()
	}
	if degraded == 0 {
		t.Error("nothing was degraded: the test tests nothing")
	}
}

// An owner answers with committed annotations, under the requested epoch, with a lease.
func TestNotesRefused(t *testing.T) {
	w := newWorld(t, 1, Options{})
	w.fill(random(t), 1, students(3))
	m := w.machines[0]
	key, _ := triple.AppendKey(nil, triple.SPO, student(1))
	if _, err := m.reads.annotationsLocal(ctx, &annotatedRowRequest{epoch: 7, key: key}); err == nil {
		t.Error("answers under another epoch")
	}
	m.SetLease(errors.New("no lease"))
	if _, err := m.reads.annotationsLocal(ctx, &annotatedRowRequest{epoch: 1, key: key}); err == nil {
		t.Error("answers without a lease")
	}
	m.SetLease(nil)
	o := replica.Operation{Kind: store.OperationAnnotate, Stamp: triple.Stamp{Epoch: 1, Sequence: 99}, Key: key,
		Annotation: &replica.Annotation{ApplicationID: "a", On: triple.Stamp{Epoch: 1, Sequence: 2}, Data: []byte("x")}}
	joint := m.View().Joint()
	if joint.Phase != recovery.Idle {
		t.Fatal(joint.Phase)
	}
	from := replica.Origin{Sequencer: m.Self(), Incarnation: 1, Batch: 1}
	if err := m.store.Deliver(ctx, &replica.Delivery{Origin: from, Operations: []replica.Operation{o}}, joint); err != nil {
		t.Fatal(err)
	}
	var waited []replica.Origin
	m.settle = func(_ context.Context, batches []replica.Origin) error { waited = batches; return nil }
	n, err := m.reads.annotationsLocal(ctx, &annotatedRowRequest{epoch: 1, key: key})
	if err != nil || len(n.Annotations) != 1 || !reflect.DeepEqual(waited, []replica.Origin{from}) {
		t.Errorf("%+v, %v; waited for %v", n, err, waited)
	}
}

func parseNoted(b []byte) (n replica.AnnotatedRow, err error) {
	err = peer.Decode(b, codeAnnotated(&n))
	return n, err
}

func TestNotesCodec(t *testing.T) {
	key, _ := triple.AppendKey(nil, triple.POS, student(1))
	q := &annotatedRowRequest{epoch: 300, key: key, one: true, id: "app\x00"}
	if got, err := parse(peer.Encode(0, q.fields), new(annotatedRowRequest)); err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]byte{nil, append(peer.Encode(0, q.fields), 0), peer.Encode(0, (&annotatedRowRequest{key: []byte("x")}).fields)} {
		if _, err := parse(bad, new(annotatedRowRequest)); err == nil {
			t.Errorf("%x is taken", bad)
		}
	}
	n := replica.AnnotatedRow{Live: true, Stamp: triple.Stamp{Epoch: 3, Sequence: 4}, More: true, Annotations: []store.Annotation{{ApplicationID: "a", Data: []byte{}}, {ApplicationID: "b", Data: []byte("x")}}}
	if got, err := parseNoted(encodeAnnotated(&n)); err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseNoted(encodeAnnotated(&replica.AnnotatedRow{More: true})); err == nil {
		t.Error("more behind nothing is taken: it would be asked for forever")
	}
}

func FuzzNotes(f *testing.F) {
	f.Add(encodeAnnotated(&replica.AnnotatedRow{Live: true, Annotations: []store.Annotation{{ApplicationID: "a", Data: []byte("x")}}}))
	f.Add(peer.Encode(0, (&annotatedRowRequest{epoch: 1, key: []byte{1}}).fields))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parse(b, new(annotatedRowRequest))
		if n, err := parseNoted(b); err == nil {
			if again, err := parseNoted(encodeAnnotated(&n)); err != nil || len(again.Annotations) != len(n.Annotations) {
				t.Errorf("%+v, %v", again, err)
			}
		}
	})
}
