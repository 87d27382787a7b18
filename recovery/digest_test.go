// Digests: equal for equal rows in any order, different for others.

package recovery

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

type row struct{ key, value []byte }

// rowsOf returns the rows of triples in one order, each with an annotation where
// its number is odd.
func rowsOf(o triple.Order, triples []triple.Triple) []row {
	var rows []row
	for i, t := range triples {
		key, _ := triple.AppendKey(nil, o, t)
		stamp := triple.Stamp{Epoch: 1, Sequence: uint64(i)}
		rows = append(rows, row{key, triple.AppendValue(nil, stamp, t)})
		if i%2 == 1 {
			rows = append(rows, row{triple.AppendAnnotationKey(nil, key, "app"), triple.AppendAnnotation(nil, stamp, []byte("x"))})
		}
	}
	return rows
}

func digest(t interface{ Fatal(...any) }, rows []row) *Digest {
	d := NewDigest(Secret{1, 2, 3}, 4)
	for _, r := range rows {
		if _, _, err := d.Add(r.key, r.value); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestDigestIsThatOfTheTriples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		triples := rapid.SliceOfN(rapid.Custom(anyTriple), 1, 20).Draw(t, "triples")
		want := digest(t, rowsOf(triple.SPO, triples))
		for _, o := range []triple.Order{triple.POS, triple.OSP} {
			rows := rowsOf(o, triples)
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			if differ := Diff(want, digest(t, rows)); differ != nil {
				t.Fatalf("%s differs in buckets %v", o, differ)
			}
			// One row less, or one twice, shows in the one bucket that is its own.
			lost := rapid.IntRange(0, len(rows)-1).Draw(t, "lost")
			hash, _ := want.Hash(rows[lost].key, rows[lost].value)
			less := append(append([]row{}, rows[:lost]...), rows[lost+1:]...)
			twice := append(append([]row{}, rows...), rows[lost])
			for _, wrong := range [][]row{less, twice} {
				if differ := Diff(want, digest(t, wrong)); len(differ) != 1 || differ[0] != want.Bucket(hash) {
					t.Fatalf("%s: buckets %v differ, want %d", o, differ, want.Bucket(hash))
				}
			}
		}
	})
}

func TestDigestSeesStampsAndAnnotations(t *testing.T) {
	tr := triple.Triple{Subject: triple.NewIRI("http://a/"), Predicate: triple.NewIRI("http://b/"), Object: triple.NewString("c")}
	key, _ := triple.AppendKey(nil, triple.POS, tr)
	stamp := triple.Stamp{Epoch: 1, Sequence: 1}
	version := row{key, triple.AppendValue(nil, stamp, tr)}
	base := digest(t, []row{version})
	for name, other := range map[string][]row{
		"later stamp":         {{key, triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 2}, tr)}},
		"annotation":          {version, {triple.AppendAnnotationKey(nil, key, "a"), triple.AppendAnnotation(nil, stamp, nil)}},
		"nothing":             {},
		"annotation for row":  {{triple.AppendAnnotationKey(nil, key, "a"), triple.AppendAnnotation(nil, stamp, nil)}},
		"two of the same row": {version, version},
	} {
		if Diff(base, digest(t, other)) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

func BenchmarkDigestAdd(b *testing.B) {
	tr := triple.Triple{Subject: triple.NewIRI("http://example.org/subject/12345"), Predicate: triple.NewIRI("http://example.org/predicate"), Object: triple.NewString("some text of an object")}
	key, _ := triple.AppendKey(nil, triple.POS, tr)
	value := triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, tr)
	d := NewDigest(Secret{}, 12)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.Add(key, value); err != nil {
			b.Fatal(err)
		}
	}
}
