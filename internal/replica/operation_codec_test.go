// Golden bytes of the rows of local state.

package replica

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The rows of local state that a holder keeps, byte by byte.
func TestHolderRows(t *testing.T) {
	from := Origin{0x0102030405060708, 2, 3}
	ops := []Operation{
		{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 300, Sequence: 5}, Key: []byte("key"), Long: []byte("long")},
		{Kind: store.OperationDelete, Stamp: triple.Stamp{Epoch: 1, Sequence: 2}, Key: []byte("k")},
	}
	notes := []Operation{
		{Kind: store.OperationAnnotate, Stamp: triple.Stamp{Epoch: 300, Sequence: 5}, Key: []byte("key"),
			Annotation: &Annotation{ApplicationID: "app", On: triple.Stamp{Epoch: 2, Sequence: 300}, Data: []byte("data")}},
		{Kind: store.OperationAnnotate, Stamp: triple.Stamp{Epoch: 1, Sequence: 2}, Key: []byte("k"),
			Annotation: &Annotation{ApplicationID: "a", On: triple.Stamp{Epoch: 1, Sequence: 1}, Removed: true}},
	}
	stamped := []Operation{{Kind: store.OperationAdd, Stamp: ops[0].Stamp, Key: []byte("k"), Stamper: 42, Token: store.Token{0: 1, 15: 2}}}
	row := batchRow{epoch: 300, time: 1000, operations: ops[1:]}
	h := Heard{Last: 300, Committed: 2, Acks: map[trie.MachineID]uint64{9: 1, 8: 200}}
	for _, test := range []struct {
		name string
		got  []byte
		want string
	}{
		{"unsettled key", batchlog.Key(from.stream(), from.Batch), "03" + hex.EncodeToString([]byte("unsettled/")) + "0102030405060708" + "0000000000000002" + "0000000000000003"},
		{"unsettled", appendOperations(nil, ops), "01" + "ac02" + "05" + "036b6579" + "046c6f6e67" + "02" + "01" + "02" + "016b" + "00"},
		{"annotations", appendOperations(nil, notes), "03" + "ac02" + "05" + "036b6579" + "00" + "03617070" + "02" + "ac02" + "00" + "0464617461" +
			"03" + "01" + "02" + "016b" + "00" + "0161" + "01" + "01" + "01" + "00"},
		{"stamper", appendOperations(nil, stamped), "c1" + "01000000000000000000000000000002" + "000000000000002a" + "ac02" + "05" + "016b" + "00"},
		{"row", row.append(nil), "10" + "ac02" + "e807" + "02" + "01" + "02" + "016b" + "00"},
		{"heard key", heardKey(from.stream()), "03" + hex.EncodeToString([]byte("heard/")) + "0102030405060708" + "0000000000000002"},
		{"heard", h.append(nil), "ac02" + "02" + "02" + "0000000000000008" + "c801" + "0000000000000009" + "01"},
	} {
		if got := hex.EncodeToString(test.got); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if id, number, err := batchlog.ParseKey(batchlog.Key(from.stream(), from.Batch)); err != nil || id != from.stream() || number != from.Batch {
		t.Errorf("%v, %d, %v", id, number, err)
	}
}

// TestBatchRow checks rows with a header. Bytes without one are no row.
func TestBatchRow(t *testing.T) {
	ops := operations(store.OperationAdd, 2, 1, students(0, 3)...)
	if row, err := parseBatchRow(appendOperations(nil, ops)); err == nil {
		t.Errorf("%+v", row)
	}
	row := batchRow{epoch: 2, time: 5, operations: ops}
	back, err := parseBatchRow(row.append(nil))
	if err != nil || back.epoch != 2 || back.time != 5 || len(back.operations) != 3 {
		t.Errorf("%+v, %v", back, err)
	}
	// What the log sees: the stamps of the row's own epoch, and the other epochs.
	ops[0].Stamp.Epoch, ops[1].Stamper = 1, 9
	if b := row.logged(stream{}, 1, 10); !b.Fresh || b.Stamp != ops[2].Stamp || !slices.Equal(b.Old, []uint64{1, 2}) {
		t.Errorf("%+v", b)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add(appendOperations(nil, operations(store.OperationAdd, 2, 1, students(0, 3)...)))
	f.Add(appendOperations(nil, []Operation{{Kind: store.OperationAnnotate, Key: []byte("k"), Annotation: &Annotation{ApplicationID: "a", Data: []byte("x")}}}))
	f.Add([]byte{1, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})
	row := batchRow{epoch: 300, time: 1 << 40, operations: []Operation{{Kind: store.OperationDelete, Key: []byte("k"), Stamper: 7}}}
	f.Add(row.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := parseBatchRow(b)
		ops := parsed.operations
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		again, err := parseOperations(appendOperations(nil, ops), 0)
		same := func(a, b Operation) bool {
			return a.Kind == b.Kind && a.Stamp == b.Stamp && a.Stamper == b.Stamper && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Long, b.Long) &&
				(a.Annotation == nil) == (b.Annotation == nil) && (a.Annotation == nil || textOf(a) == textOf(b))
		}
		if err != nil || !slices.EqualFunc(ops, again, same) {
			t.Errorf("%v, %v", again, err)
		}
	})
}

func FuzzHeard(f *testing.F) {
	h := Heard{Last: 3, Committed: 2, Acks: map[trie.MachineID]uint64{9: 1}}
	f.Add(h.append(nil))
	f.Add([]byte{1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeard(stream{Machine: 1, Incarnation: 2}, b)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		again, err := parseHeard(stream{Machine: 1, Incarnation: 2}, h.append(nil))
		if err != nil || again.Last != h.Last || again.Committed != h.Committed || !maps.Equal(again.Acks, h.Acks) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
