package ranges

import (
	"bytes"
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

// TestListRange compares with what a pattern is answered from, of short and very long
// IRIs.
func TestListRange(t *testing.T) {
	g := &Graph{predicate: triple.NewIRI(links.DefaultPredicate)}
	g.predicateTerm, _ = triple.AppendTerm(nil, g.predicate)
	for _, url := range []string{"a:", "http://example.org/x?y#z", "http://example.org/" + strings.Repeat("long/", 1000)} {
		page := triple.NewIRI(url)
		for d, p := range map[links.Direction]triple.Pattern{
			links.Forward:  {Subject: page, Predicate: g.predicate},
			links.Backward: {Object: page, Predicate: g.predicate},
		} {
			order := triple.SPO
			if d == links.Backward {
				order = triple.POS
			}
			scan, err := p.Scan(order)
			got := g.listRange(d, url)
			if err != nil || !bytes.Equal(got.Lo, scan.Range.Lo) || !bytes.Equal(got.Hi, scan.Range.Hi) {
				t.Errorf("%v of %.40s: % X to % X\nwant % X to % X, %v", d, url, got.Lo, got.Hi, scan.Range.Lo, scan.Range.Hi, err)
			}
		}
	}
}

// TestPacked packs random lists, and reads what is damaged: an error, or other UIDs that
// ascend.
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
		packed := appendPacked(nil, list)
		got, err := unpack(nil, packed)
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%v: %v, %v", list, got, err)
		}
		if len(packed) == 0 {
			continue
		}
		packed[random.IntN(len(packed))] ^= 1 << random.IntN(8)
		if got, err := unpack(nil, packed[:random.IntN(len(packed)+1)]); err == nil && (!slices.IsSorted(got) || len(slices.Compact(got)) != len(got)) {
			t.Fatalf("a damaged list is %v", got)
		}
	}
}

// TestPackedLists: a list is there while its count is the same, and what is kept is
// bounded.
func TestPackedLists(t *testing.T) {
	var p packedLists
	const lists = 100
	p.init(2 * lists * (listBytes + 1))
	for i := range 10 * lists {
		url := strconv.Itoa(i)
		k := p.key(links.Forward, url)
		if _, ok := p.get(k, 1); ok {
			t.Fatal("a list that was not kept")
		}
		p.put(k, packedList{1, []byte{byte(i)}})
		if l, ok := p.get(k, 1); !ok || l[0] != byte(i) {
			t.Fatalf("%d is %v, %v", i, l, ok)
		}
		if _, ok := p.get(k, 2); ok {
			t.Fatal("a list of rows that have changed")
		}
		if _, ok := p.get(p.key(links.Backward, url), 1); ok {
			t.Fatal("a list of the other direction")
		}
		if n := len(p.young) + len(p.old); n > 2*lists+2 {
			t.Fatalf("%d lists are kept", n)
		}
	}
}
