package ranges

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
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

// TestUvarint compares with encoding/binary, of numbers of all lengths and what is none.
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
		if err != nil || !slices.Equal(got, list) || packedDegree(packed) != len(list) {
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
		all = append(all, appendPacked(nil, slices.Compact(list)))
	}
	var list []uid.UID
	for b.Loop() {
		for _, packed := range all {
			list, _ = unpack(list[:0], packed)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lists), "ns/list")
}

// TestPackedLists: a list is there, of its page and direction and part alone, and what is
// kept is bounded, sketches too.
func TestPackedLists(t *testing.T) {
	var p packedLists
	const lists = 100
	p.init(2 * lists * (keptBytes + 1))
	find := func(k listKey) *keptList {
		var found [1]*keptList
		p.get([]listKey{k}, found[:])
		return found[0]
	}
	part := triple.Range{Lo: []byte("a"), Hi: []byte("b")}
	p.put(p.key(links.Forward, 0, triple.Range{}), &keptList{})
	if find(p.key(links.Forward, 0, triple.Range{})) != nil {
		t.Error("a list of no page is kept")
	}
	for i := range 10 * lists {
		page := uid.UID(1 + i)
		k := p.key(links.Forward, page, triple.Range{})
		if find(k) != nil {
			t.Fatal("a list that was not kept")
		}
		l := &keptList{packed: []byte{byte(i)}}
		p.put(k, l)
		if find(k) != l {
			t.Fatalf("%d is not kept", i)
		}
		for _, other := range []listKey{p.key(links.Backward, page, triple.Range{}), p.key(links.Forward, page, part), p.key(links.Backward, page, part)} {
			if find(other) != nil {
				t.Fatal("another list is told")
			}
		}
		if i%10 == 0 {
			p.sketched(k, l, sample.NewSketch([]uid.UID{1, 2, 3}, sample.Classes{}, 5))
		}
		kept := int64(0)
		for _, l := range p.young {
			kept += l.bytes()
		}
		if n := len(p.young) + len(p.old); n > 2*lists+2 || kept != p.bytes {
			t.Fatalf("%d lists are kept, of %d bytes, counted as %d", n, kept, p.bytes)
		}
	}
	first := p.key(links.Forward, 10*lists, triple.Range{})
	for i := range 10 * lists {
		p.put(p.key(links.Backward, uid.UID(1+i), triple.Range{}), &keptList{packed: []byte{}})
		if find(first) == nil {
			t.Fatalf("what is asked for all the time is forgotten after %d others", i)
		}
	}
}

// TestMerge puts parts of a list together: links in several graphs may end one part and
// begin the next one.
func TestMerge(t *testing.T) {
	part := func(first, last string, list ...uid.UID) reply {
		return reply{state: repliedKnown, degree: len(list), packed: appendPacked(nil, list), ends: [2]string{first, last}}
	}
	none := reply{state: repliedKnown}
	for _, c := range []struct {
		name  string
		parts []reply
		want  []uid.UID
	}{
		{"nothing", []reply{none, none}, nil},
		{"one", []reply{part("a", "c", 1, 2, 3)}, []uid.UID{1, 2, 3}},
		{"two", []reply{part("a", "b", 4, 7), part("c", "d", 1, 5)}, []uid.UID{1, 4, 5, 7}},
		{"a link in both", []reply{part("a", "b", 4, 7), part("b", "d", 1, 7)}, []uid.UID{1, 4, 7}},
		{"a link in three", []reply{part("a", "b", 4, 7), part("b", "b", 7), none, part("b", "d", 1, 7)}, []uid.UID{1, 4, 7}},
		{"one link", []reply{part("a", "a", 9), part("a", "a", 9)}, []uid.UID{9}},
	} {
		whole, ok := merge(c.parts, 100)
		got, err := unpack(nil, whole.packed)
		if !ok || err != nil || !slices.Equal(got, c.want) || whole.degree != len(c.want) {
			t.Errorf("%s: %v, %d links, %v, %v", c.name, got, whole.degree, ok, err)
		}
		for i := range c.parts {
			c.parts[i].state = repliedNothing
			if _, ok := merge(c.parts, 100); ok {
				t.Errorf("%s: a part that is not known is", c.name)
			}
			c.parts[i].state = repliedKnown
		}
	}
}

// TestRecent fills what is remembered beyond its bounds.
func TestRecent(t *testing.T) {
	r := recent[int, int]{most: 10}
	for i := range 100 {
		r.put(i, -i)
		if v, ok := r.get(0); !ok || v != 0 {
			t.Fatalf("what is asked for all the time is forgotten after %d others", i)
		}
		if v, ok := r.get(i); !ok || v != -i {
			t.Fatalf("%d is %d, %v", i, v, ok)
		}
		if n := len(r.young) + len(r.old); n > 20 {
			t.Fatalf("%d are remembered", n)
		}
	}
	if _, ok := r.get(1); ok {
		t.Error("nothing is forgotten")
	}
}

// aQuestion has lists, and a part of one.
func aQuestion(want byte) *question {
	q := &question{epoch: 7, d: links.Backward, want: want, lists: []askedList{
		{page: 1 << 60}, {page: 5, url: "http://example.org/"}, {page: 6, url: "http://example.org/a", part: pageRange("http://example.org/a")}}}
	if want == wantSamples {
		q.spec = sample.Spec{N: 300, Mode: sample.ModeConsistent, Class: sample.InterDomain, Seed: 1 << 40}
	}
	return q
}

// TestOwnMessages encodes questions and answers, and reads them again; what is wrong is
// an error.
func TestOwnMessages(t *testing.T) {
	for want := wantLists; want <= wantSamples; want++ {
		q := aQuestion(want)
		got, err := parseQuestion(q.encode())
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%+v, %v\nwant %+v", got, err, q)
		}
		replies := []reply{{state: repliedURL}, {state: repliedKnown, degree: 3, packed: []byte{1, 2, 3}}, {state: repliedKnown, degree: 1, packed: []byte{9}, ends: [2]string{"a", "b"}}}
		told, err := q.parseReplies(q.encodeReplies(replies))
		if want == wantDegrees {
			replies[1].packed, replies[2].packed = nil, nil
		}
		if err != nil || !reflect.DeepEqual(told, replies) {
			t.Errorf("%+v, %v\nwant %+v", told, err, replies)
		}
		if _, err := q.parseReplies(q.encodeReplies(replies[:2])); !errors.Is(err, peer.ErrMessage) {
			t.Errorf("an answer about fewer lists: %v", err)
		}
	}
	q := aQuestion(wantLists)
	if _, err := q.parseReplies(q.encodeReplies([]reply{{state: repliedKnown, degree: 3, packed: []byte{1, 2}}, {}, {}})); !errors.Is(err, peer.ErrMessage) {
		t.Errorf("a list of fewer links than it says: %v", err)
	}
	a, b := pageRange("http://example.org/a"), pageRange("http://example.org/b")
	for name, change := range map[string]func(*question){
		"direction":             func(q *question) { q.d = 2 },
		"what":                  func(q *question) { q.want = 3 },
		"a sample of too many":  func(q *question) { q.spec.N = maxSampled + 1 },
		"a mode":                func(q *question) { q.spec.Mode = 2 },
		"a class":               func(q *question) { q.spec.Class = 3 },
		"a part without a URL":  func(q *question) { q.lists[2].url = "" },
		"a part of two lists":   func(q *question) { q.lists[2].part = triple.Range{Lo: a.Lo, Hi: b.Hi} },
		"a part without an end": func(q *question) { q.lists[2].part.Hi = nil },
		"nothing in a part":     func(q *question) { q.lists[2].part = triple.Range{Lo: a.Hi, Hi: a.Lo} },
	} {
		q := aQuestion(wantSamples)
		change(q)
		if _, err := parseQuestion(q.encode()); !errors.Is(err, peer.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOwnMessages(f *testing.F) {
	for want := wantLists; want <= wantSamples; want++ {
		q := aQuestion(want)
		f.Add(q.encode())
		f.Add(q.encodeReplies([]reply{{state: repliedLater}, {state: repliedKnown, degree: 2, packed: []byte{1, 2}}, {state: repliedKnown, degree: 1, packed: []byte{3}, ends: [2]string{"a", "b"}}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := parseQuestion(b); err == nil {
			for i := range q.lists {
				if part := q.lists[i].part; part.Lo != nil && (part.Empty() || part.Hi == nil || q.lists[i].url == "") {
					t.Errorf("%+v", q.lists[i])
				}
			}
		}
		q := aQuestion(wantSamples)
		if replies, err := q.parseReplies(b); err == nil && len(replies) != len(q.lists) {
			t.Errorf("%d answers", len(replies))
		} else if err == nil {
			_, _ = merge(replies, 5)
		}
	})
}
