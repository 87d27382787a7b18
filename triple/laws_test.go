// Laws: the order of keys is the order of terms.

package triple

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestLawTermOrder: keys must compare like terms.
func TestLawTermOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genTerm(false).Draw(t, "a")
		for range 8 {
			b := genTermNear(a, false).Draw(t, "b")
			want := oracleCompare(a, b)
			keyA, longA := AppendTerm(nil, a)
			keyB, _ := AppendTerm(nil, b)
			if got := bytes.Compare(keyA, keyB); got != sign(want) {
				t.Fatalf("keys of %.100s and %.100s compare %d, want %d\n%x\n%x", a, b, got, want, keyA, keyB)
			}
			if got := CompareTerms(a, b); got != sign(want) {
				t.Fatalf("CompareTerms(%.100s, %.100s) = %d, want %d", a, b, got, want)
			}
			if _, want := oracleKeyUnits(a); longA != want {
				t.Fatalf("%.100s is long: %v, want %v", a, longA, want)
			}
			if (want == 0) != (a == b) {
				t.Fatalf("%.100s and %.100s compare %d", a, b, want)
			}
		}
	})
}

// TestLawTripleOrder: the law of the ordered space, in every order.
func TestLawTripleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genTriple(false).Draw(t, "a")
		b := genTriple(false).Draw(t, "b")
		// Most pairs share terms.
		for position := range 4 {
			switch rapid.IntRange(0, 3).Draw(t, "share") {
			case 0, 1:
				*b.term(position) = *a.term(position)
			case 2:
				if position == Object {
					b.Object = genTermNear(a.Object, false).Draw(t, "near")
				}
			}
		}
		for _, o := range Orders {
			if o == GSPO && (a.Graph.IsZero() || b.Graph.IsZero()) {
				continue
			}
			want := sign(oracleCompareTriples(o, a, b))
			if got := bytes.Compare(mustKey(o, a), mustKey(o, b)); got != want {
				t.Fatalf("%s: keys of\n%.300s\n%.300s\ncompare %d, want %d", o, a, b, got, want)
			}
			if got := o.Compare(a, b); got != want {
				t.Fatalf("%s.Compare: %d, want %d", o, got, want)
			}
		}
	})
}

// TestLawRoundTrip: decode(encode(t)) must be t, in every way of encoding.
func TestLawRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genTriple(true).Draw(t, "triple")
		if err := want.Check(); err != nil {
			t.Fatal(err)
		}
		stamp := Stamp{rapid.Uint64().Draw(t, "epoch"), rapid.Uint64().Draw(t, "sequence")}
		value := AppendValue(nil, stamp, want)
		v, err := DecodeValue(value)
		if err != nil || v.Stamp != stamp || v.Tombstone {
			t.Fatal(v, err)
		}
		for _, o := range Orders {
			key, long := AppendKey([]byte("before"), o, want)
			key = key[len("before"):]
			if o == GSPO && want.Graph.IsZero() {
				if len(key) != 0 {
					t.Fatalf("a key in gspo: %x", key)
				}
				continue
			}
			if err := CheckKey(key, value); err != nil {
				t.Fatal(err)
			}
			gotOrder, got, err := DecodeKey(key, value)
			if err != nil || got != want || gotOrder != o {
				t.Fatalf("%s: got %.300s, %v, want %.300s", gotOrder, got, err, want)
			}
			if long != anyLongTerm(v) {
				t.Fatalf("long = %v, value holds %v", long, v.Long)
			}
			if long {
				if _, _, err := DecodeKey(key, AppendValue(nil, stamp, Triple{})); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("without its long terms: %v", err)
				}
			}
			line, err := AppendKeyNQuad(nil, key, value)
			if err != nil || string(line) != want.String()+"\n" {
				t.Fatalf("AppendKeyNQuad: %.300s, %v", line, err)
			}
			var encoded KeyTerms
			for position := range encoded {
				encoded[position], _ = AppendTerm(nil, *want.term(position))
			}
			if again := AppendKeyOf(nil, o, encoded[0], encoded[1], encoded[2], encoded[3]); !bytes.Equal(again, key) {
				t.Fatalf("AppendKeyOf: %x, want %x", again, key)
			}
			annotation := AppendAnnotationKey(nil, key, "app\x00\x01\x00\x04id")
			lo, hi := AnnotationBounds(key)
			version, id, ok := CutAnnotation(annotation)
			if !ok || !bytes.Equal(version, key) || string(id) != "app\x00\x01\x00\x04id" || !(Range{lo, hi}).Contains(annotation) {
				t.Fatalf("annotation of %x: %x %q %v", key, version, id, ok)
			}
			if _, _, ok := CutAnnotation(key); ok || (Range{lo, hi}).Contains(key) {
				t.Fatalf("%x taken for an annotation", key)
			}
		}
	})
}

func anyLongTerm(v Value) bool {
	for _, whole := range v.Long {
		if whole != nil {
			return true
		}
	}
	return false
}

// TestLawTermRoundTrip: terms of any bytes must be the same after a round trip by keys, whole forms
// and text.
func TestLawTermRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genTerm(rapid.Bool().Draw(t, "valid")).Draw(t, "term")
		key, long := AppendTerm(nil, want)
		got, err := DecodeTerm(key)
		if long != IsLongTerm(key) || long != errors.Is(err, ErrLongTerm) || !long && (err != nil || got != want) {
			t.Fatalf("got %.100s, %v, want %.100s", got, err, want)
		}
		whole := AppendWholeTerm(nil, want)
		if got, err = DecodeTerm(whole); err != nil || got != want {
			t.Fatalf("whole: got %.100s, %v, want %.100s", got, err, want)
		}
		text, err := AppendTermNT(nil, whole)
		if err != nil || string(text) != want.String() {
			t.Fatalf("AppendTermNT: %.100s, %v, want %.100s", text, err, want)
		}
		if want.Check() == nil {
			if got, err := ParseTerm(want.String()); err != nil || got != want {
				t.Fatalf("ParseTerm: %.100s, %v, want %.100s", got, err, want)
			}
		}
		if want.Clone() != want {
			t.Fatal("Clone")
		}
	})
}
