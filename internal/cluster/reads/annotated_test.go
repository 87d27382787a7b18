// Reads of triples with long annotations, and the messages for them.

package reads

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// long is more than a third of what one answer holds.
func long(text string) string { return strings.Repeat(text, annotationsBytes/2/len(text)) }

// annotated reads all triples with the lengths of their annotations.
func annotated(t *testing.T, sn *Snapshot) map[triple.Triple]int {
	t.Helper()
	all := map[triple.Triple]int{}
	for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{Annotations: true}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		if _, again := all[tr]; again {
			t.Errorf("%s comes twice", tr)
		}
		all[tr] = 0
		for _, a := range row.Annotations {
			all[tr] += len(a.Data)
		}
	}
	return all
}

// Triples come with all of their annotations, even if these do not fit one answer.
func TestLongAnnotations(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	w := newWorld(t, 3, Options{})
	w.fill(random(t), 12, students(30))
	want := map[triple.Triple]int{}
	for i, tr := range w.triples {
		want[tr] = 0
		for _, id := range []string{"a", "b", "c", "d"}[:i%5] {
			w.annotate(tr, id, long(id))
			want[tr] += len(long(id))
		}
	}
	for i := range w.machines {
		got := annotated(t, w.snapshot(i))
		for tr, n := range want {
			if got[tr] != n {
				t.Errorf("through machine %d: %s has %d bytes of annotations, not %d", i, tr, got[tr], n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("through machine %d: %d triples, not %d", i, len(got), len(want))
		}
	}
}

// A triple that is deleted and added while its annotations are read comes with the
// annotations of one version.
func TestReaddedBetweenParts(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 1, students(1))
	tr := w.triples[0]
	for _, id := range []string{"a", "b", "c", "d"} {
		w.annotate(tr, id, long("old"))
	}
	key, _ := triple.AppendKey(nil, triple.SPO, tr)
	owner := w.layout.Placement.Owner(w.layout.Trie.Lookup(key))
	reader := w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { return m.Self() != owner })]
	holder := w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { return m.Self() == owner })]
	reader.sends = make(chan struct{})
	ended := make(chan struct{})
	go func() { // replaces the version and its annotations before the second part is read
		defer close(ended)
		<-reader.sends
		for reader.asked.Load() < 2 {
			runtime.Gosched()
		}
		stamp := triple.Stamp{Epoch: 1, Sequence: 1 << 30}
		rows := []replica.FillRow{{Table: store.TableStorage, Key: key, Value: triple.AppendValue(nil, stamp, tr)}}
		for _, id := range []string{"a", "b", "c", "d"} {
			rows = append(rows, replica.FillRow{Table: store.TableStorage, Key: triple.AppendAnnotationKey(nil, key, id),
				Value: triple.AppendAnnotation(nil, triple.Stamp{Epoch: 1, Sequence: 1<<30 + 1}, []byte(long("new")))})
		}
		holder.fill(t, rows)
		for range reader.sends {
		}
	}()
	// All annotations must be those of the new version.
	noted, err := w.snapshot(reader.index).annotatedFully(ctx, key)
	close(reader.sends)
	<-ended
	if err != nil || !noted.Live || len(noted.Annotations) != 4 {
		t.Fatalf("%d annotations, live: %t, %v", len(noted.Annotations), noted.Live, err)
	}
	for _, a := range noted.Annotations {
		if !bytes.Equal(a.Data, []byte(long("new"))) {
			t.Errorf("annotation %q is of the version before", a.ApplicationID)
		}
	}
}

func encodeAnnotations(answer []answered) []byte { return peer.Encode(0, codeAnnotations(answer)) }

func parseAnnotations(b []byte, n int) ([]answered, error) {
	answer := make([]answered, n)
	return answer, peer.Decode(b, codeAnnotations(answer))
}

// FuzzAnnotationMessages: a message of a peer is read or refused, and what is read is the
// same when it is sent on.
func FuzzAnnotationMessages(f *testing.F) {
	tr := student(1)
	key, _ := triple.AppendKey(nil, triple.SPO, tr)
	f.Add(peer.Encode(0, (&annotationsRequest{epoch: 3, keys: [][]byte{key, key}}).fields))
	f.Add(encodeAnnotations([]answered{{replica.AnnotatedRow{Live: true, Annotations: []store.Annotation{{ApplicationID: "a", Data: []byte("x")}}}, true}, {}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := parse(b, new(annotationsRequest)); err == nil {
			again, err := parse(peer.Encode(0, q.fields), new(annotationsRequest))
			if err != nil || again.epoch != q.epoch || !slices.EqualFunc(again.keys, q.keys, bytes.Equal) {
				t.Errorf("%+v becomes %+v, %v", q, again, err)
			}
		}
		for n := range 4 {
			answer, err := parseAnnotations(b, n)
			if err != nil {
				continue
			}
			text := encodeAnnotations(answer)
			if again, err := parseAnnotations(text, n); err != nil || !bytes.Equal(encodeAnnotations(again), text) {
				t.Errorf("%+v becomes %+v, %v", answer, again, err)
			}
		}
	})
}
