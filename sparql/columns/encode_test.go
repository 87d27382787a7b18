// Sets as bytes, and back.

package columns_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// encode returns the bytes of a set.
func encode(t require.T, set *columns.Set) []byte {
	var b bytes.Buffer
	require.NoError(t, set.Write(&b))
	return b.Bytes()
}

// A set that was written and read again has the same columns.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pairsOf{}
		var all []triple.Triple
		for _, one := range drawTriples(t) {
			if one.Graph.IsZero() {
				want.set(one, true)
			}
			all = append(all, one)
		}
		set := build(t, all)
		b := encode(t, set)
		some, err := columns.BuildSome(context.Background(), memsource.New(all), 1<<30, map[string]struct{}{key(triple.NewIRI("http://example.org/p1")): {}})
		require.NoError(t, err)
		if some, err = columns.Read(bytes.NewReader(encode(t, some)), 1<<30); err != nil {
			t.Fatal(err)
		}
		checkSome(t, columns.NewView(some, nil), want)
		again, err := columns.Read(bytes.NewReader(b), 1<<30)
		require.NoError(t, err)
		checkView(t, columns.NewView(again, nil), want)
		if !bytes.Equal(encode(t, again), b) || again.Bytes() > set.Bytes() {
			t.Fatalf("a set of %d bytes became another one of %d", set.Bytes(), again.Bytes())
		}
		// A part of it is no set, nor is more.
		part := b[:rapid.IntRange(0, len(b)-1).Draw(t, "part")]
		if _, err := columns.Read(bytes.NewReader(part), 1<<30); err == nil {
			t.Fatalf("%d of %d bytes are a set", len(part), len(b))
		}
		if _, err := columns.Read(bytes.NewReader(append(b, 0)), 1<<30); err == nil {
			t.Fatal("a set with a byte more is one")
		}
	})
}

// checkSome compares a view of one predicate with the triples that it must have.
func checkSome(t *rapid.T, v *columns.View, want pairsOf) {
	for predicate, pairs := range want {
		c, ok := v.Column(predicate)
		if ok != (predicate == key(triple.NewIRI("http://example.org/p1"))) {
			t.Fatalf("%q has a column: %t", predicate, ok)
		}
		if ok {
			checkLists(t, v.Dictionary(), &c.BySubject, pairs, 0)
			checkLists(t, v.Dictionary(), &c.ByObject, pairs, 1)
		}
	}
	if _, _, ok := v.All(); ok || v.Complete() {
		t.Fatal("a part of the predicates is all")
	}
}

// What long terms a column has is kept, and so is the limit.
func TestEncodeLimit(t *testing.T) {
	p := triple.NewIRI("x:p")
	long := triple.NewIRI("x:" + string(bytes.Repeat([]byte("long"), 300)))
	set := build(t, []triple.Triple{{Subject: long, Predicate: p, Object: p}, {Subject: p, Predicate: p, Object: p}})
	b := encode(t, set)
	again, err := columns.Read(bytes.NewReader(b), 1<<20)
	require.NoError(t, err)
	if c := again.Column(key(p)); c.Rows() != 2 || !c.LongSubjects || c.LongObjects || columns.NewView(again, nil).Complete() {
		t.Errorf("%+v", c)
	}
	if _, err := columns.Read(bytes.NewReader(b), 100); !errors.Is(err, columns.ErrTooLarge) {
		t.Errorf("a limit of 100 bytes: %v", err)
	}
}
