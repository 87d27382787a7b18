// Tests of lost ranges.

package store

import (
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// Lost ranges have text if the bounds are whole keys, and always have bytes.
func TestLostRange(t *testing.T) {
	tr := triple.Triple{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI("x:p"), Object: triple.NewTyped("7", triple.XSDInteger)}
	whole, _ := triple.AppendKey(nil, triple.POS, tr)
	tr.Object = triple.NewString(string(make([]byte, 5000)))
	long, _ := triple.AppendKey(nil, triple.POS, tr)
	for _, test := range []struct {
		r                  triple.Range
		order, from, until string
	}{
		{triple.Range{Lo: whole, Hi: long}, "pos", `<x:p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> <x:s>`, ""},
		{triple.Range{Lo: []byte{1}, Hi: []byte{2}}, "spo", "", ""},
		{triple.Range{Lo: []byte{4, 1, 'x'}}, "gspo", `"\x01x"`, ""},
		{triple.Range{}, "", "", ""},
	} {
		got := NewLostRange(test.r, 7)
		if got.Order != test.order || got.From != test.from || got.Until != test.until && test.until != "" || got.Epoch != 7 ||
			string(got.Lo) != string(test.r.Lo) || string(got.Hi) != string(test.r.Hi) {
			t.Errorf("%q: %+v", test.r, got)
		}
	}
	if got := NewLostRange(triple.Range{Lo: whole, Hi: long}, 1).Until; got == "" || got[0] != '"' {
		t.Errorf("a long key is %s", got)
	}
}
