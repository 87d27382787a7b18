// Golden messages, because the format must not change by accident.

package wire

import (
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

func TestGolden(t *testing.T) {
	host := uid.Make(9000, 1, 0)
	list := []uid.UID{uid.Make(3, 1, 7), host, host + 1, host + 200, uid.Make(16383, 4194303, 268435455)}
	labels := []links.Label{cell.NoLabel, {Weight: 2.5, Anchor: "home"}, {Weight: 3}, cell.NoLabel, {Weight: 1, Anchor: "ü"}}
	spec := sample.Spec{N: 10, Mode: sample.ModeConsistent, Class: sample.InterDomain, Seed: 1 << 40}
	answer := func(m message) []byte { return m.bytes(t) }
	for name, b := range map[string][]byte{
		"request-uids":   AppendRequest(nil, &Request{UIDs: []uid.UID{host + 5, 0, host}, Direction: links.Backward, Sample: spec}),
		"request-urls":   AppendRequest(nil, &Request{URLs: []string{"http://example.org/", ""}, Labels: true}),
		"request-none":   AppendRequest(nil, &Request{}),
		"uids":           answer(message{kind: UIDs, uids: []uid.UID{host, 0, host + 3}}),
		"urls":           answer(message{kind: URLs, urls: []string{"http://example.org/", "", "urn:x"}}),
		"degrees":        answer(message{kind: Degrees, degrees: []int{0, 127, 128, 10_000_000}}),
		"lists":          answer(message{kind: Lists, lists: [][]uid.UID{list, nil, list[1:3]}}),
		"labelled-lists": answer(message{kind: LabelledLists, lists: [][]uid.UID{list, nil, list[1:2]}, labels: [][]links.Label{labels, nil, labels[:1]}}),
	} {
		got, path := hex.Dump(b), filepath.Join("testdata", name+".hex")
		goldenfile.Check(t, path, got)
	}
}
