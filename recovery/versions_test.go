// Rows of a triple: any one regenerates the others.

package recovery

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

// anyTerm draws terms that make codecs err: zero bytes, all kinds, long ones.
func anyTerm(label string) *rapid.Generator[triple.Term] {
	return rapid.Custom(func(t *rapid.T) triple.Term {
		text := rapid.SampledFrom([]string{"a", "b", "ab", "a\x00", "\x00\x01", "ü", strings.Repeat("x", 1200), strings.Repeat("x", 256), strings.Repeat("\x00", 700) + "y"})
		switch rapid.IntRange(0, 4).Draw(t, label+" kind") {
		case 0:
			return triple.NewIRI("http://example.org/" + rapid.StringMatching(`[a-c]{0,3}`).Draw(t, label))
		case 1:
			return triple.NewIRI("http://example.org/" + strings.Repeat("l", 1100) + rapid.StringMatching(`[a-c]`).Draw(t, label))
		case 2:
			return triple.NewTyped(rapid.SampledFrom([]string{"1", "01", "-3", "x"}).Draw(t, label), triple.XSDInteger)
		case 3:
			return triple.NewLang(text.Draw(t, label), rapid.SampledFrom([]string{"en", "EN", "de-at"}).Draw(t, label+" tag"))
		}
		return triple.NewString(text.Draw(t, label))
	})
}

func anyTriple(t *rapid.T) triple.Triple {
	iri := rapid.Custom(func(t *rapid.T) triple.Term {
		return triple.NewIRI("http://example.org/" + rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "iri"))
	})
	tr := triple.Triple{Subject: iri.Draw(t, "s"), Predicate: iri.Draw(t, "p"), Object: anyTerm("o").Draw(t, "o")}
	if rapid.Bool().Draw(t, "named") {
		tr.Graph = iri.Draw(t, "g")
	}
	return tr
}

func TestVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := anyTriple(t)
		value := triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 7}, tr)
		for _, from := range triple.Orders {
			key, _ := triple.AppendKey(nil, from, tr)
			if len(key) == 0 {
				continue
			}
			versions, err := Versions(key, value)
			if err != nil {
				t.Fatal(err)
			}
			var orders []triple.Order
			for v := range versions {
				orders = append(orders, v.Order)
				want, _ := triple.AppendKey(nil, v.Order, tr)
				if !bytes.Equal(v.Key, want) {
					t.Fatalf("%s from %s: %q, want %q", v.Order, from, v.Key, want)
				}
				if _, got, err := triple.DecodeKey(v.Key, v.Value); err != nil || got != tr {
					t.Fatalf("%s from %s: %v, %v, want %v", v.Order, from, got, err, tr)
				}
			}
			if want := 3; len(orders) != want && tr.Graph.IsZero() || len(orders) != 4 && !tr.Graph.IsZero() {
				t.Fatalf("versions %v of %v", orders, tr)
			}
		}
	})
}

func TestVersionsOfDamagedKeys(t *testing.T) {
	for _, key := range []string{"", "\x09", "\x01", "\x01a", "\x01a\x00\x01b", "\x04a\x00\x01b\x00\x01c", "\x01a\x00\x01\x00\x01c", "\x01a\x00\x01b\x00\x01c\x00\x01d\x00\x01e"} {
		if _, err := Versions([]byte(key), nil); !errors.Is(err, triple.ErrCorrupt) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
