// Tests of kept lists, merged parts and messages about lists.

package linklists

import (
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestPackedLists checks that a list is found only for its page, direction and part, and that
// memory is bounded, sketches included.
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

// TestMerge merges parts of a list. A link in several graphs may end one part and begin the
// next one.
func TestMerge(t *testing.T) {
	part := func(first, last string, list ...uid.UID) reply {
		return reply{state: repliedKnown, degree: len(list), packed: linkkeys.AppendPacked(nil, list), ends: [2]string{first, last}}
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
		got, err := linkkeys.Unpack(nil, whole.packed)
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

// aQuestion has lists, and a part of one.
func aQuestion(want byte) *question {
	q := &question{epoch: 7, d: links.Backward, want: want, lists: []listRequest{
		{page: 1 << 60}, {page: 5, url: "http://example.org/"}, {page: 6, url: "http://example.org/a", part: listOf("http://example.org/a")}}}
	if want == wantSamples {
		q.spec = sample.Spec{N: 300, Mode: sample.ModeConsistent, Class: sample.InterDomain, Seed: 1 << 40}
	}
	return q
}

// TestOwnMessages encodes and decodes questions and answers. If one is invalid, there must be
// an error.
func TestOwnMessages(t *testing.T) {
	for want := wantLists; want <= wantSamples; want++ {
		q := aQuestion(want)
		got := new(question)
		err := peer.Decode(peer.Encode(0, q.fields), got.fields)
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
	a, b := listOf("http://example.org/a"), listOf("http://example.org/b")
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
		if err := peer.Decode(peer.Encode(0, q.fields), new(question).fields); !errors.Is(err, peer.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bytes of questions must not change, because members of two versions run side by side during
// an upgrade.
func TestQuestionBytes(t *testing.T) {
	q := &question{epoch: 300, d: links.Backward, want: wantSamples, spec: sample.Spec{N: 300, Mode: sample.ModeConsistent, Class: sample.InterDomain, Seed: 7},
		lists: []listRequest{{page: 1 << 60}, {page: 5, url: "a:", part: triple.Range{Lo: []byte{1, 2}, Hi: []byte{3}}}}}
	const want = "ac020102" + "0102ac0207" + "02" + "10000000000000000000" + "0000000000000005" + "02613a" + "020102" + "0103"
	if got := hex.EncodeToString(peer.Encode(0, q.fields)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func FuzzOwnMessages(f *testing.F) {
	for want := wantLists; want <= wantSamples; want++ {
		q := aQuestion(want)
		f.Add(peer.Encode(0, q.fields))
		f.Add(q.encodeReplies([]reply{{state: repliedLater}, {state: repliedKnown, degree: 2, packed: []byte{1, 2}}, {state: repliedKnown, degree: 1, packed: []byte{3}, ends: [2]string{"a", "b"}}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if q := new(question); peer.Decode(b, q.fields) == nil {
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

// listOf returns the rows of a page's forward links.
func listOf(url string) triple.Range {
	key, _ := triple.AppendKey(nil, triple.SPO, links.Link(links.DefaultPredicate, url, "http://example.org/end"))
	pair, _ := triple.KeyPair(key)
	return copies.PairRange(pair)
}
