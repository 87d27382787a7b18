// Arbitrary bytes must be messages or errors. A message must be the same when it is written
// again.

package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

func FuzzDecodeRequest(f *testing.F) {
	f.Add(AppendRequest(nil, &Request{UIDs: []uid.UID{1 << 60, 0, 7}, Sample: sample.Spec{N: 9, Seed: 1 << 63}}))
	f.Add(AppendRequest(nil, &Request{URLs: []string{"http://a/", ""}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := DecodeRequest(b, 1000)
		if err != nil {
			return
		}
		again, err := DecodeRequest(AppendRequest(nil, got), 1000)
		if err != nil || !slices.Equal(again.UIDs, got.UIDs) || !slices.Equal(again.URLs, got.URLs) || again.Sample != got.Sample ||
			again.Direction != got.Direction || again.Labels != got.Labels {
			t.Fatalf("%+v is read again as %+v, %v", got, again, err)
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, m := range []message{{kind: UIDs, uids: []uid.UID{3, 0}}, {kind: URLs, urls: []string{"a", ""}}, {kind: Degrees, degrees: []int{1, 1000}},
		{kind: Lists, lists: [][]uid.UID{{1, 1 << 63}, nil}}, {kind: LabelledLists, lists: [][]uid.UID{{5}, nil}, labels: [][]links.Label{{{Weight: 2, Anchor: "x"}}, nil}}} {
		f.Add(m.bytes(f), byte(m.kind), m.count())
	}
	f.Fuzz(func(t *testing.T, b []byte, kind byte, count int) {
		if count < 0 || count > 1000 {
			return
		}
		k := Kind(kind)
		m, err := read(NewReader(bytes.NewReader(b), k, count), k, count)
		if err != nil || m.count() != count {
			return
		}
		again, err := read(NewReader(bytes.NewReader(m.bytes(t)), k, count), k, count)
		if err != nil || !bytes.Equal(again.bytes(t), m.bytes(t)) {
			t.Fatalf("%+v is read again as %+v, %v", m, again, err)
		}
	})
}
