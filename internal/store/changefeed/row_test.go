// Tests of the codec: golden bytes, any changes, and damage.

package changefeed

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/triple"
)

func term(format string, args ...any) triple.Term {
	return triple.NewIRI("http://example.org/" + fmt.Sprintf(format, args...))
}

func keyOf(t triple.Triple) (key, long []byte) {
	key, isLong := triple.AppendKey(nil, triple.SPO, t)
	if isLong {
		long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	return key, long
}

func withKey(c feed.Change, t triple.Triple) feed.Change {
	c.Key, c.Long = keyOf(t)
	return c
}

// encode returns a row of changes.
func encode(at time.Time, continued bool, changes []feed.Change, sequences []uint64) []byte {
	var e Encoder
	e.Begin(at)
	for i, c := range changes {
		e.SetDepth(c.Depth)
		switch c.Kind {
		case feed.Annotate:
			e.Annotate(sequences[i], c.Key, c.Long, *c.Annotation)
		case feed.Load:
			e.Load(sequences[i], c.Stamp, *c.Load)
		case feed.Clear:
			e.Clear(sequences[i], *c.Clear)
		default:
			e.Triple(c.Kind, sequences[i], c.Key, c.Long)
		}
	}
	return e.Bytes(continued)
}

// decode returns the changes of a row. All arenas are reused, as consumers do.
func decode(b []byte) (row Row, changes []feed.Change, sequences []uint64, err error) {
	if row, err = DecodeRow(b); err != nil {
		return row, nil, nil, err
	}
	arena := make([]byte, 0, 16)
	for {
		var c feed.Change
		sequence, _, ok, err := row.Next(&c, arena)
		if err != nil || !ok {
			return row, changes, sequences, err
		}
		c.Key = bytes.Clone(c.Key)
		changes, sequences = append(changes, c), append(sequences, sequence)
	}
}

func examples() (changes []feed.Change, sequences []uint64) {
	t := triple.Triple{Subject: term("s"), Predicate: term("p"), Object: triple.NewTyped("1", triple.XSDInteger)}
	u := t
	u.Object, u.Graph = triple.NewString(strings.Repeat("x", 1100)), term("g")
	return []feed.Change{
		withKey(feed.Change{Kind: feed.Add}, t),
		withKey(feed.Change{Kind: feed.Add}, u),
		withKey(feed.Change{Kind: feed.Annotate, Annotation: &feed.Annotation{ApplicationID: "app", Data: []byte("data")}}, t),
		withKey(feed.Change{Kind: feed.Annotate, Annotation: &feed.Annotation{ApplicationID: "app", Removed: true}}, t),
		withKey(feed.Change{Kind: feed.Delete, Depth: 3}, t),
		{Kind: feed.Load, Stamp: triple.Stamp{Epoch: 1, Sequence: 300}, Load: &feed.LoadInfo{ID: "load", New: -1}},
		{Kind: feed.Clear, Clear: &feed.ClearInfo{Default: true, Graphs: []triple.Term{term("g"), triple.NewBlank("b")}}},
		{Kind: feed.Clear, Clear: &feed.ClearInfo{All: true}},
		{Kind: feed.Load, Stamp: triple.Stamp{Epoch: 1, Sequence: 301}, Load: &feed.LoadInfo{ID: "more", New: 9, Predicates: feed.Predicates{"http://example.org/p": 7, "http://example.org/q": 300}}},
		{Kind: feed.Load, Stamp: triple.Stamp{Epoch: 1, Sequence: 302}, Load: &feed.LoadInfo{ID: "none", Predicates: feed.Predicates{}}},
		{Kind: feed.Clear, Clear: &feed.ClearInfo{Default: true, Predicates: feed.Predicates{"http://example.org/p": 1}}},
	}, []uint64{400, 400, 401, 402, 403, 404, 405, 405, 406, 407, 408}
}

// TestRowGolden: the bytes of rows stay as they are.
func TestRowGolden(t *testing.T) {
	changes, sequences := examples()
	got := hex.Dump(encode(time.UnixMilli(1_800_000_000_000), true, changes, sequences))
	const file = "testdata/row.hex"
	goldenfile.Check(t, file, got)
}

// TestRowRoundTrip: decoding reverts encoding.
func TestRowRoundTrip(t *testing.T) {
	all, _ := examples()
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(rapid.SampledFrom(all), 1, 20).Draw(t, "changes")
		sequences := make([]uint64, len(changes))
		at := rapid.Uint64Range(1, 1<<40).Draw(t, "sequence")
		for i := range sequences {
			at += rapid.Uint64Range(0, 2).Draw(t, "step")
			sequences[i] = at
		}
		continued := rapid.Bool().Draw(t, "continued")
		row, gotChanges, gotSequences, err := decode(encode(time.UnixMilli(5), continued, changes, sequences))
		if err != nil || row.Continued != continued || !row.Time.Equal(time.UnixMilli(5)) || !reflect.DeepEqual(gotSequences, sequences) || !reflect.DeepEqual(gotChanges, changes) {
			t.Fatalf("%v: %+v\n%+v %v\nwant %+v %v", err, row, gotChanges, gotSequences, changes, sequences)
		}
	})
}

// TestRowCutOff: a row that is cut off decodes to a prefix of its changes, or is rejected.
func TestRowCutOff(t *testing.T) {
	changes, sequences := examples()
	b := encode(time.UnixMilli(5), false, changes, sequences)
	rejected := 0
	for n := range b {
		_, got, _, err := decode(b[:n])
		switch {
		case err != nil && !errors.Is(err, fault.ErrCorrupt):
			t.Fatalf("%d bytes: %v", n, err)
		case err != nil:
			rejected++
		case len(got) >= len(changes) || len(got) > 0 && !reflect.DeepEqual(got, changes[:len(got)]):
			t.Fatalf("%d bytes are %d changes", n, len(got))
		}
	}
	if rejected < len(b)-len(changes)-1 {
		t.Errorf("%d of %d are rejected", rejected, len(b))
	}
}

// FuzzRow: no bytes make the decoder fail in another way than by its error.
func FuzzRow(f *testing.F) {
	changes, sequences := examples()
	f.Add(encode(time.UnixMilli(5), false, changes, sequences))
	f.Add([]byte{1, 0, 0, 7})
	f.Add([]byte{1, 0, 0, 1, 5, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		_, changes, sequences, err := decode(b)
		if err != nil {
			if !errors.Is(err, fault.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, sequences2 := changes, sequences
		_, again, sequences2, err = decode(encode(time.UnixMilli(5), false, again, sequences2))
		if err != nil || len(again) != len(changes) || !reflect.DeepEqual(sequences, sequences2) {
			t.Fatalf("%d changes became %d: %v", len(changes), len(again), err)
		}
	})
}
