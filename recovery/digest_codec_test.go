// Merged digests and their encoding.

package recovery

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

// The digests of the parts of a set add up to that of the whole, also when they were
// sent.
func TestDigestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rowsOf(triple.SPO, rapid.SliceOfN(rapid.Custom(anyTriple), 0, 30).Draw(t, "triples"))
		at := rapid.IntRange(0, len(rows)).Draw(t, "at")
		whole, sum := digest(t, rows), digest(t, nil)
		for _, part := range [][]row{rows[:at], rows[at:]} {
			d, err := ParseDigest(whole.secret, 4, digest(t, part).Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			sum.Merge(d)
		}
		if differ := Diff(whole, sum); differ != nil || whole.Rows() != sum.Rows() {
			t.Fatalf("%d and %d rows, buckets %v differ", whole.Rows(), sum.Rows(), differ)
		}
	})
}

func FuzzParseDigest(f *testing.F) {
	d := NewDigest(Secret{}, 4)
	d.AddHash(Hash{1, 2})
	d.AddHash(Hash{8: 9})
	f.Add(d.Append(nil))
	f.Add([]byte{0xFF})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDigest(Secret{}, 4, data)
		if err != nil {
			return
		}
		again, err := ParseDigest(Secret{}, 4, d.Append(nil))
		if err != nil || Diff(d, again) != nil {
			t.Fatalf("%v: another digest", err)
		}
	})
}

// A row that is on one machine instead of another shows.
func TestPlaces(t *testing.T) {
	secret := Secret{7}
	a, b := NewDigest(secret, 4), NewDigest(secret, 4)
	h := Hash{1, 2, 3}
	a.AddHash(h.At(secret.Place(1)))
	b.AddHash(h.At(secret.Place(2)))
	if Diff(a, b) == nil {
		t.Error("two machines are one place")
	}
	if h.At(secret.Place(1)).At(secret.Place(1)) != h {
		t.Error("a place is not taken back")
	}
}
