// Tests of the counts of changes.

package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/triple"
)

// TestChangeCount makes changes by all kinds of writes. The counts of changed rows must move, in
// both orders. Other counts must stay, unless all move.
func TestChangeCount(t *testing.T) {
	s := openMem(t, Options{FS: vfs.NewMem(), CountChanges: true})
	course := func(name string) triple.Triple {
		return triple.Triple{Subject: iri("%s", name), Predicate: triple.NewIRI(watched), Object: iri("course-%s", name)}
	}
	keys := func(name string) (keys [][]byte) {
		for _, o := range []triple.Order{triple.SPO, triple.POS} {
			p := triple.Pattern{Subject: course(name).Subject, Predicate: triple.NewIRI(watched)}
			if o == triple.POS {
				p = triple.Pattern{Object: course(name).Object, Predicate: triple.NewIRI(watched)}
			}
			scan, err := p.Scan(o)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, scan.Range.Lo)
		}
		return keys
	}
	count := func(name string) (counts [2]uint64) {
		for i, key := range keys(name) {
			bucket, ok := s.db.ChangeBucket(key)
			if !ok {
				t.Fatalf("% X has no count", key)
			}
			counts[i] = s.db.ChangeCount(bucket)
		}
		return counts
	}
	add(t, s, course("a"), course("b"))
	for what, change := range map[string]func(){
		"an add in a graph": func() {
			named := course("a")
			named.Graph = iri("graph")
			add(t, s, named)
		},
		"a delete and an add": func() {
			if _, err := s.Delete(ctx, []triple.Triple{course("a")}); err != nil {
				t.Fatal(err)
			}
			add(t, s, course("a"))
		},
	} {
		a, b := count("a"), count("b")
		change()
		if now := count("a"); now[0] == a[0] || now[1] == a[1] {
			t.Errorf("%s: the counts %v were %v", what, now, a)
		}
		if now := count("b"); now != b {
			t.Errorf("%s: the counts of others %v were %v", what, now, b)
		}
	}
	for what, change := range map[string]func(){
		"a bulk load": func() { loadTriples(t, s, "load", []triple.Triple{course("c")}) },
		"a clear": func() {
			if _, err := s.Apply(ctx, Changes{ClearAll: true}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		a := count("a")
		change()
		if now := count("a"); now[0] == a[0] || now[1] == a[1] {
			t.Errorf("%s: the counts %v were %v", what, now, a)
		}
	}
	if _, ok := s.db.ChangeBucket([]byte{byte(triple.SPO)}); ok {
		t.Error("a key without terms has a count")
	}
	if _, ok := openMem(t, Options{FS: vfs.NewMem()}).db.ChangeBucket(keys("a")[0]); ok {
		t.Error("nothing is counted, and there is a count")
	}
}
