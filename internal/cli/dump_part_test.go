package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// What a member of a cluster has in any order or extra replica can be written from
// its directory, each triple once.
func TestDumpPart(t *testing.T) {
	dir := t.TempDir()
	store, err := node.Open(dir, node.Options{MinFreeBytes: -1, Member: true})
	if err != nil {
		t.Fatal(err)
	}
	statement := func(subject string, graph triple.Term) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI("http://ex/" + subject), Predicate: triple.NewIRI("http://ex/p"),
			Object: triple.NewString(subject + strings.Repeat("long", 500)), Graph: graph}
	}
	whole := []triple.Triple{statement("a", triple.Term{}), statement("b", triple.NewIRI("http://ex/g"))}
	if _, err := store.Add(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if err := store.SetIdentity(node.Identity{Cluster: "photos", ClusterID: "1", Generation: 1}); err != nil {
		t.Fatal(err)
	}
	row := func(table byte, o triple.Order, s triple.Triple) node.FillRow {
		key, _ := triple.AppendKey(nil, o, s)
		return node.FillRow{Table: table, Key: key, Value: triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, s)}
	}
	annotation := func(table byte, o triple.Order, s triple.Triple) node.FillRow {
		r := row(table, o, s)
		return node.FillRow{Table: table, Key: triple.AppendAnnotationKey(nil, r.Key, "app"), Value: triple.AppendAnnotation(nil, triple.Stamp{Epoch: 1, Sequence: 2}, []byte("data"))}
	}
	onlyPOS, onlyOSP, replica := statement("c", triple.Term{}), statement("d", triple.Term{}), statement("e", triple.Term{})
	deleted := row(node.TableStorage, triple.SPO, statement("f", triple.Term{}))
	value, err := triple.DecodeValue(deleted.Value)
	if err != nil {
		t.Fatal(err)
	}
	value.Stamp, value.Tombstone = triple.Stamp{Epoch: 2, Sequence: 1}, true
	deleted.Value = value.Append(nil)
	rows := []node.FillRow{row(node.TableStorage, triple.POS, onlyPOS), row(node.TableStorage, triple.OSP, onlyPOS), row(node.TableStorage, triple.OSP, onlyOSP),
		annotation(node.TableStorage, triple.POS, onlyPOS), annotation(node.TableReplica, triple.SPO, replica),
		row(node.TableReplica, triple.SPO, replica), row(node.TableReplica, triple.SPO, whole[0]),
		deleted, row(node.TableStorage, triple.POS, statement("f", triple.Term{}))}
	if err := store.Fill(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	if code, _, stderr := run(t, "", "dump", "--data", dir); code != exitFailed || !strings.Contains(stderr, "--part") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "dump", "--part"); code != exitUsage || !strings.Contains(stderr, "--data") {
		t.Errorf("%d, %s", code, stderr)
	}
	want := []string{triple.AnnotationsHeader + "\n"}
	for _, s := range append(whole, onlyPOS, onlyOSP, replica) {
		var annotations []triple.ApplicationData
		if s == onlyPOS || s == replica {
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
