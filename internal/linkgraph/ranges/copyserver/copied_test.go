// Tests of the messages about copied ranges.

package copyserver

import (
	"errors"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// pageRange returns the rows of a page's forward links.
func pageRange(url string) triple.Range {
	key, _ := triple.AppendKey(nil, triple.SPO, links.Link(links.DefaultPredicate, url, "http://example.org/end"))
	pair, _ := triple.KeyPair(key)
	return copies.PairRange(pair)
}

// request encodes a message of ranges.
func request(epoch uint64, kind []byte, ranges ...triple.Range) []byte {
	e := peer.NewEncoder(64)
	e.Uvarint(epoch)
	for _, b := range kind {
		e.Byte(b)
	}
	e.Uvarint(uint64(len(ranges)))
	for _, r := range ranges {
		e.Bytes(r.Lo)
		e.Bytes(r.Hi)
	}
	return e.Data()
}

func TestCopiesRequests(t *testing.T) {
	a, b := pageRange("http://example.org/a"), pageRange("http://example.org/b")
	whole := triple.OrderRange(triple.SPO)
	for _, c := range []struct {
		name             string
		ranges           []triple.Range
		pull, copiedList bool
	}{
		{"two lists", []triple.Range{a, b}, true, true},
		{"a piece of a list", []triple.Range{{Lo: append(slices.Clip(a.Lo), 5), Hi: a.Hi}}, true, true},
		{"not in order", []triple.Range{b, a}, false, false},
		{"all of an order", []triple.Range{whole}, true, false},
		{"more than one list", []triple.Range{{Lo: a.Lo, Hi: b.Hi}}, true, false},
		{"nothing in it", []triple.Range{{Lo: a.Hi, Hi: a.Lo}}, false, false},
		{"no end", []triple.Range{{Lo: a.Lo}}, false, false},
		{"none", nil, false, true},
	} {
		epoch, ranges, err := parsePull(request(7, nil, c.ranges...))
		if (err == nil) != c.pull || err == nil && (epoch != 7 || len(ranges) != len(c.ranges)) || err != nil && !errors.Is(err, peer.ErrMessage) {
			t.Errorf("pull %s: epoch %d, %v, %v", c.name, epoch, ranges, err)
		}
		epoch, kind, ranges, err := parseCopied(request(7, []byte{rowreader.CopiedURLs}, c.ranges...))
		if (err == nil) != c.copiedList || err == nil && (epoch != 7 || kind != rowreader.CopiedURLs || len(ranges) != len(c.ranges)) || err != nil && !errors.Is(err, peer.ErrMessage) {
			t.Errorf("copied %s: epoch %d, %v, %v", c.name, epoch, ranges, err)
		}
	}
	if _, _, _, err := parseCopied(request(7, []byte{rowreader.CopiedGrants + 1}, a)); !errors.Is(err, peer.ErrMessage) {
		t.Errorf("a kind that there is not: %v", err)
	}
}

func TestWalkRequests(t *testing.T) {
	whole := triple.OrderRange(triple.POS)
	encode := func(kind byte, most uint64, r triple.Range) []byte {
		e := peer.NewEncoder(64)
		e.Uvarint(7)
		e.Byte(kind)
		e.Uvarint(most)
		e.Bytes(r.Lo)
		e.Bytes(r.Hi)
		return e.Data()
	}
	for _, c := range []struct {
		name string
		body []byte
		most int // 0 is an error
	}{
		{"all", encode(rowreader.WalkPages, 5, whole), 5},
		{"links", encode(rowreader.WalkLinks, 5, whole), 5},
		{"none", encode(rowreader.WalkPages, 0, whole), 1},
		{"too many", encode(rowreader.WalkPages, 1<<63, whole), rowreader.MaxWalkRows},
		{"a kind that there is not", encode(rowreader.WalkLinks+1, 5, whole), 0},
		{"another order", encode(rowreader.WalkPages, 5, triple.OrderRange(triple.SPO)), 0},
		{"behind the order", encode(rowreader.WalkPages, 5, triple.Range{Lo: whole.Lo, Hi: triple.OrderRange(triple.OSP).Hi}), 0},
		{"no end", encode(rowreader.WalkPages, 5, triple.Range{Lo: whole.Lo}), 0},
		{"nothing in it", encode(rowreader.WalkPages, 5, triple.Range{Lo: whole.Hi, Hi: whole.Lo}), 0},
		{"cut", encode(rowreader.WalkPages, 5, whole)[:5], 0},
	} {
		epoch, kind, most, r, err := parseWalk(c.body)
		if (err == nil) != (c.most > 0) || err == nil && (epoch != 7 || kind != c.body[1] || most != c.most || string(r.Hi) != string(whole.Hi)) {
			t.Errorf("%s: epoch %d, kind %d, %d of %v, %v", c.name, epoch, kind, most, r, err)
		}
	}
	r := triple.Range{Lo: []byte("b"), Hi: []byte("d")}
	for upTo, ok := range map[string]bool{"a": false, "b": false, "c": true, "d": true, "e": false} {
		e := peer.NewEncoder(8)
		e.Byte(rowreader.CopiedKnown)
		e.String(upTo)
		if got, _, err := rowreader.ParseWalked(e.Data(), r); (err == nil) != ok || ok && string(got) != upTo {
			t.Errorf("a part up to %q of %q to %q: %q, %v", upTo, r.Lo, r.Hi, got, err)
		}
	}
}

func FuzzCopiesMessages(f *testing.F) {
	a := pageRange("http://example.org/a")
	f.Add(request(1, nil, a))
	f.Add(request(1, []byte{rowreader.CopiedList}, a))
	f.Add([]byte{2, rowreader.CopiedKnown, 1, 5, rowreader.CopiedUnclear})
	f.Add([]byte{1, 1, 1, 1, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, ranges, err := parsePull(b); err == nil {
			for i, r := range ranges {
				if r.Empty() || i > 0 && string(r.Lo) < string(ranges[i-1].Hi) {
					t.Errorf("range %d of %v", i, ranges)
				}
			}
		}
		if _, _, ranges, err := parseCopied(b); err == nil {
			for _, r := range ranges {
				if pair, ok := triple.KeyPair(r.Lo); !ok || r.Empty() || string(r.Hi) > string(copies.PairRange(pair).Hi) {
					t.Errorf("%v", r)
				}
			}
		}
		if _, _, most, r, err := parseWalk(b); err == nil && (most < 1 || most > rowreader.MaxWalkRows || r.Empty()) {
			t.Errorf("%d of %v", most, r)
		}
		whole := triple.OrderRange(triple.POS)
		if upTo, _, err := rowreader.ParseWalked(b, whole); err == nil && (string(upTo) <= string(whole.Lo) || string(upTo) > string(whole.Hi)) {
			t.Errorf("up to %q", upTo)
		}
		var claims []assign.Claim
		if assign.CodeClaims(peer.NewDecoder(b).Coder(), &claims); len(claims) > len(b) {
			t.Errorf("%d claims", len(claims))
		}
		if rows, done, _, err := parsePulled(b, 3); err == nil && (done > 3 || len(rows) > len(b)) {
			t.Errorf("%d rows, %d ranges", len(rows), done)
		}
		if found, _, err := rowreader.ParseCopiedAnswer(b, 2); err == nil && len(found) != 2 {
			t.Errorf("%d answers", len(found))
		}
	})
}
