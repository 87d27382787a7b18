// Tests of the dictionary.

package rdfload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
	"pgregory.net/rapid"
)

func TestDictionary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := newDictionary(newSeed(), 1<<22, maxTerms)
		if err != nil {
			t.Fatal(err)
		}
		defer d.release()
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			ids := make(map[string]uint32)
			var terms []string
			// More than the first hash table holds.
			n := rapid.SampledFrom([]int{0, 10, firstSlots, 4 * firstSlots}).Draw(t, "n")
			seed := rapid.Uint32().Draw(t, "seed")
			for i := range n {
				seed = seed*1664525 + 1013904223
				term := fmt.Sprintf("\x20%d", seed>>8%uint32(2*n))
				hash := d.hash(term[0], []byte(term[1:]))
				id, ok := d.find(hash, term[0], []byte(term[1:]))
				want, known := ids[term]
				if ok != known || ok && id != want {
					t.Fatalf("term %d, %q: found %v as %d, want %v as %d", i, term, ok, id, known, want)
				}
				if !ok {
					if id, err = d.add(hash, []byte(term), nil); err != nil || int(id) != len(terms) {
						t.Fatalf("added as %d: %v", id, err)
					}
					ids[term] = id
					terms = append(terms, term)
				}
			}
			for id, term := range terms {
				if got := d.term(uint32(id)); string(got) != term {
					t.Fatalf("term %d is %q, want %q", id, got, term)
				}
			}
			if rapid.Bool().Draw(t, "renew") {
				err = d.renew()
			} else {
				d.reset()
			}
			if err != nil || d.len() != 0 {
				t.Fatalf("after reset %d terms: %v", d.len(), err)
			}
		}
	})
}

// TestDictionaryCollisions gives all terms the same hash.
func TestDictionaryCollisions(t *testing.T) {
	d, err := newDictionary(newSeed(), 1<<20, maxTerms)
	if err != nil {
		t.Fatal(err)
	}
	defer d.release()
	const hash = 0xFFFFFFFF_FFFFFFFF // the last slot: the search goes round
	for i := range 100 {
		term := fmt.Appendf(nil, "\x20%d", i)
		if _, ok := d.find(hash, term[0], term[1:]); ok {
			t.Fatalf("term %d is found before it is added", i)
		}
		if id, err := d.add(hash, term, nil); err != nil || id != uint32(i) {
			t.Fatalf("term %d is added as %d: %v", i, id, err)
		}
	}
	for i := range 100 {
		if id, ok := d.find(hash, 0x20, fmt.Append(nil, i)); !ok || id != uint32(i) {
			t.Fatalf("term %d is found as %d, %v", i, id, ok)
		}
		if _, ok := d.find(hash, 0x35, fmt.Append(nil, i)); ok {
			t.Fatalf("term %d is found with another tag", i)
		}
	}
}

func TestDictionaryFull(t *testing.T) {
	for name, d := range map[string]struct {
		budget int64
		limit  int
	}{"of bytes": {4 << 10, maxTerms}, "of ids": {1 << 20, 100}} {
		d, err := newDictionary(newSeed(), d.budget, d.limit)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			term := fmt.Appendf(nil, "\x20%040d", i)
			_, err := d.add(d.hash(term[0], term[1:]), term, nil)
			if err == errBudget && (i == 100 || name == "of bytes") {
				break
			}
			if err != nil || i > 1000 {
				t.Fatalf("%s: term %d: %v", name, i, err)
			}
		}
		d.publish()
		if name == "of ids" && d.published.Load() < 1<<40 {
			t.Error("a dictionary without ids does not say that the run must end")
		}
		d.release()
	}
}

// TestDictionaryLong has long terms with equal prefixes.
func TestDictionaryLong(t *testing.T) {
	w := &worker{}
	var err error
	if w.dictionary, err = newDictionary(newSeed(), 1<<20, maxTerms); err != nil {
		t.Fatal(err)
	}
	defer w.dictionary.release()
	before := w.dictionary.takes()
	for round := range 2 {
		for i := range 20 {
			term := triple.NewString(strings.Repeat("x", 2000) + fmt.Sprint(i))
			id, err := w.term(term)
			if err != nil || id != uint32(i) {
				t.Fatalf("round %d: term %d is %d: %v", round, i, id, err)
			}
			if whole := w.dictionary.longs[id]; !bytes.Equal(whole, triple.AppendWholeTerm(nil, term)) {
				t.Fatalf("term %d is kept as %d bytes", i, len(whole))
			}
		}
	}
	if takes := w.dictionary.takes() - before; takes < 20*2000 {
		t.Errorf("long terms of 40 kB are counted as %d bytes", takes)
	}
	if _, err := w.term(triple.NewBlank(strings.Repeat("x", triple.MaxTermBytes+1))); err == nil {
		t.Error("a blank node whose label is too long is taken")
	}
}
