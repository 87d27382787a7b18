// Dumps of one member's directory.

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// What a member of a cluster has in any order or extra copy can be written from
// its directory, each triple once.
func TestDumpPart(t *testing.T) {
	dir := t.TempDir()
	db, err := replica.Open(dir, store.Options{MinFreeBytes: -1}, replica.Options{})
	if err != nil {
		t.Fatal(err)
	}
	statement := func(subject string, graph triple.Term) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI("http://ex/" + subject), Predicate: triple.NewIRI("http://ex/p"),
			Object: triple.NewString(subject + strings.Repeat("long", 500)), Graph: graph}
	}
	whole := []triple.Triple{statement("a", triple.Term{}), statement("b", triple.NewIRI("http://ex/g"))}
	if _, err := store.Add(t.Context(), db, whole); err != nil {
		t.Fatal(err)
	}
	if err := db.SetIdentity(store.Identity{Cluster: "photos", ClusterID: "1", Generation: 1}); err != nil {
		t.Fatal(err)
	}
	row := func(table byte, o triple.Order, s triple.Triple) replica.FillRow {
		key, _ := triple.AppendKey(nil, o, s)
		return replica.FillRow{Table: table, Key: key, Value: triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, s)}
	}
	annotation := func(table byte, o triple.Order, s triple.Triple) replica.FillRow {
		r := row(table, o, s)
		return replica.FillRow{Table: table, Key: triple.AppendAnnotationKey(nil, r.Key, "app"), Value: triple.AppendAnnotation(nil, triple.Stamp{Epoch: 1, Sequence: 2}, []byte("data"))}
	}
	onlyPOS, onlyOSP, extra := statement("c", triple.Term{}), statement("d", triple.Term{}), statement("e", triple.Term{})
	deleted := row(store.TableStorage, triple.SPO, statement("f", triple.Term{}))
	value, err := triple.DecodeValue(deleted.Value)
	if err != nil {
		t.Fatal(err)
	}
	value.Stamp, value.Tombstone = triple.Stamp{Epoch: 2, Sequence: 1}, true
	deleted.Value = value.Append(nil)
	rows := []replica.FillRow{row(store.TableStorage, triple.POS, onlyPOS), row(store.TableStorage, triple.OSP, onlyPOS), row(store.TableStorage, triple.OSP, onlyOSP),
		annotation(store.TableStorage, triple.POS, onlyPOS), annotation(store.TableReplica, triple.SPO, extra),
		row(store.TableReplica, triple.SPO, extra), row(store.TableReplica, triple.SPO, whole[0]),
		deleted, row(store.TableStorage, triple.POS, statement("f", triple.Term{}))}
	if err := db.Fill(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	if code, _, stderr := run(t, "", "dump", "--data", dir); code != exitFailed || !strings.Contains(stderr, "--part") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "dump", "--part"); code != exitUsage || !strings.Contains(stderr, "--data") {
		t.Errorf("%d, %s", code, stderr)
	}
	want := []string{triple.AnnotationsHeader + "\n"}
	for _, s := range append(whole, onlyPOS, onlyOSP, extra) {
		var annotations []triple.ApplicationData
		if s == onlyPOS || s == extra {
			annotations = []triple.ApplicationData{{ApplicationID: "app", Data: []byte("data")}}
		}
		want = append(want, string(triple.AppendAnnotated(nil, triple.AppendNQuad(nil, s), annotations)))
	}
	code, stdout, stderr := run(t, "", "dump", "--part", "--data", dir)
	got := slices.Sorted(strings.Lines(stdout))
	slices.Sort(want)
	if code != exitDone || !slices.Equal(got, want) {
		t.Errorf("%d, %s, wrote\n%q\nwant\n%q", code, stderr, got, want)
	}
}
