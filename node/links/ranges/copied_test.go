package ranges

import (
	"errors"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
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
		name         string
		ranges       []triple.Range
		pull, copied bool
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
		epoch, kind, ranges, err := parseCopied(request(7, []byte{copiedURLs}, c.ranges...))
		if (err == nil) != c.copied || err == nil && (epoch != 7 || kind != copiedURLs || len(ranges) != len(c.ranges)) || err != nil && !errors.Is(err, peer.ErrMessage) {
			t.Errorf("copied %s: epoch %d, %v, %v", c.name, epoch, ranges, err)
		}
	}
	if _, _, _, err := parseCopied(request(7, []byte{copiedURLs + 1}, a)); !errors.Is(err, peer.ErrMessage) {
		t.Errorf("a kind that there is not: %v", err)
	}
}

func FuzzCopiesMessages(f *testing.F) {
	a := pageRange("http://example.org/a")
	f.Add(request(1, nil, a))
	f.Add(request(1, []byte{copiedList}, a))
	f.Add([]byte{2, copiedKnown, 1, 5, copiedUnclear})
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
		if rows, done, _, err := parsePulled(b, 3); err == nil && (done > 3 || len(rows) > len(b)) {
			t.Errorf("%d rows, %d ranges", len(rows), done)
		}
		if found, _, err := parseCopiedAnswer(b, 2); err == nil && len(found) != 2 {
			t.Errorf("%d answers", len(found))
		}
	})
}
