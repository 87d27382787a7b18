// Tests of keys and packed lists.

package linkkeys

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestListRange compares with the range of a pattern, for short and very long IRIs.
func TestListRange(t *testing.T) {
	keys, err := NewKeys(links.DefaultPredicate)
	if err != nil {
		t.Fatal(err)
	}
	predicate := triple.NewIRI(links.DefaultPredicate)
	for _, url := range []string{"a:", "http://example.org/x?y#z", "http://example.org/" + strings.Repeat("long/", 1000)} {
		page := triple.NewIRI(url)
		for d, p := range map[links.Direction]triple.Pattern{
			links.Forward:  {Subject: page, Predicate: predicate},
			links.Backward: {Object: page, Predicate: predicate},
		} {
			order := triple.SPO
			if d == links.Backward {
				order = triple.POS
			}
			scan, err := p.Scan(order)
			got := keys.List(d, url)
			if err != nil || !bytes.Equal(got.Lo, scan.Range.Lo) || !bytes.Equal(got.Hi, scan.Range.Hi) {
				t.Errorf("%v of %.40s: % X to % X\nwant % X to % X, %v", d, url, got.Lo, got.Hi, scan.Range.Lo, scan.Range.Hi, err)
			}
		}
	}
}

// TestUvarint compares with encoding/binary, for numbers of all lengths and invalid ones.
func TestUvarint(t *testing.T) {
	for i := range 65 {
		for _, n := range []uint64{1<<i - 1, 1 << i, 0x0123456789abcdef >> (64 - i)} {
			b := binary.AppendUvarint(nil, n)
			for _, b := range [][]byte{b, b[:len(b)-1], append(b, 0xff, 0x80, 1, 2, 3, 4, 5, 6, 7), append(b[:len(b)-1:len(b)-1], 0x80, 0x80, 0)} {
				want, wantN := binary.Uvarint(b)
				if got, n := uvarint(b); got != want || n != wantN {
					t.Errorf("% X: %d of %d bytes, want %d of %d", b, got, n, want, wantN)
				}
			}
		}
	}
}

// TestPacked packs random lists, and decodes damaged ones: the result must be an error, or
// other UIDs that ascend.
func TestPacked(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var list []uid.UID
		for range random.IntN(30) {
			list = append(list, uid.Make(uid.Slot(random.IntN(3)), 1+uint32(random.IntN(5)), uint32(random.IntN(1000))))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		packed := AppendPacked(nil, list)
		got, err := Unpack(nil, packed)
		if err != nil || !slices.Equal(got, list) || PackedDegree(packed) != len(list) {
			t.Fatalf("%v: %v, %v", list, got, err)
		}
		if len(packed) == 0 {
			continue
		}
		packed[random.IntN(len(packed))] ^= 1 << random.IntN(8)
		if got, err := Unpack(nil, packed[:random.IntN(len(packed)+1)]); err == nil && (!slices.IsSorted(got) || len(slices.Compact(got)) != len(got)) {
			t.Fatalf("a damaged list is %v", got)
		}
	}
}

// BenchmarkUnpack unpacks lists of 18 links of four hosts.
func BenchmarkUnpack(b *testing.B) {
	var all [][]byte
	random := rand.New(rand.NewPCG(1, 0))
	const lists, size = 1000, 18
	for range lists {
		var list []uid.UID
		for range size {
			list = append(list, uid.Make(uid.Slot(random.IntN(4)), 1, uint32(random.IntN(500))))
		}
		slices.Sort(list)
		all = append(all, AppendPacked(nil, slices.Compact(list)))
	}
	var list []uid.UID
	for b.Loop() {
		for _, packed := range all {
			list, _ = Unpack(list[:0], packed)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lists), "ns/list")
}

// TestRecent fills a cache beyond its bounds.
func TestRecent(t *testing.T) {
	r := Recent[int, int]{Most: 10}
	for i := range 100 {
		r.Put(i, -i)
		if v, ok := r.Get(0); !ok || v != 0 {
			t.Fatalf("what is asked for all the time is forgotten after %d others", i)
		}
		if v, ok := r.Get(i); !ok || v != -i {
			t.Fatalf("%d is %d, %v", i, v, ok)
		}
		if n := len(r.Young) + len(r.Old); n > 20 {
			t.Fatalf("%d are remembered", n)
		}
	}
	if _, ok := r.Get(1); ok {
		t.Error("nothing is forgotten")
	}
}

func TestPackedDegree(t *testing.T) {
	list := []uid.UID{1, 2, 127, 128, 255, 1 << 20, 1<<64 - 1}
	for n := range len(list) + 1 {
		if got := PackedDegree(AppendPacked(nil, list[:n])); got != n {
			t.Errorf("%d of %d UIDs", got, n)
		}
	}
}
