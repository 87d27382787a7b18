// Tests of blank node labels.

package blank

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

func TestLabels(t *testing.T) {
	plain, prefixed := &Nodes{}, &Nodes{Prefix: "d1"}
	for _, test := range []struct{ label, plain, prefixed string }{
		{"x", "x", "d1-x"},
		{"genid", "genid", "d1-genid"},
		{"genid7", "genid7", "d1-genid7"},
		{"genid_", "genid_", "d1-genid_"},
		{"genid_7", "genid__7", "d1-genid_7"},
		{"genid__7", "genid___7", "d1-genid__7"},
		{"genid_7a", "genid_7a", "d1-genid_7a"},
		{"genid_x61", "genid__x61", "d1-genid_x61"},
		{"genid_t61", "genid__t61", "d1-genid_t61"},
		{"genid_t6g", "genid_t6g", "d1-genid_t6g"},
		{"a.", "genid_x612e", "d1_x612e"},
		{"a:b", "genid_x613a62", "d1_x613a62"},
		{"", "genid_x", "d1_x"},
	} {
		if got := plain.Any(test.label).Value(); got != test.plain {
			t.Errorf("%s without a prefix is %s, want %s", test.label, got, test.plain)
		}
		if got := prefixed.Any(test.label).Value(); got != test.prefixed {
			t.Errorf("%s with a prefix is %s, want %s", test.label, got, test.prefixed)
		}
	}
	if a, b := plain.Anonymous().Value(), plain.Anonymous().Value(); a != "genid_0" || b != "genid_1" {
		t.Errorf("anonymous nodes are %s and %s", a, b)
	}
	s, p := triple.NewIRI("x:s"), triple.NewIRI("x:p")
	first, again, other := plain.Quoted(triple.NewTripleTerm(s, p, s)), plain.Quoted(triple.NewTripleTerm(s, p, s)), plain.Quoted(triple.NewTripleTerm(s, p, p))
	if first != again || first == other || !looksAnonymous([]byte(first.Value())) || len(first.Value()) != len("genid_t")+40 {
		t.Errorf("nodes of quoted triples are %s, %s and %s", first, again, other)
	}
	if prefixedNode := prefixed.Quoted(triple.NewTripleTerm(s, p, s)); prefixedNode.Value() != "d1"+first.Value()[len("genid"):] {
		t.Errorf("with a prefix it is %s", prefixedNode)
	}
	if err := CheckPrefix("a b"); err == nil {
		t.Error("a prefix with a space was taken")
	}
}

// TestDistinct: different labels and anonymous nodes must stay different.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := &Nodes{Prefix: rapid.SampledFrom([]string{"", "d", "genid"}).Draw(t, "prefix")}
		labels := rapid.SliceOfDistinct(
			rapid.StringMatching(`genid_{0,3}[xt]?[0-9]{0,2}|[ab]?[.:]|[a-z0-9][a-z_-]{0,3}[0-9]?`), rapid.ID[string]).Draw(t, "labels")
		seen := make(map[string]bool)
		for range 20 {
			seen[nodes.Anonymous().Value()] = true
		}
		for _, label := range labels {
			node := nodes.Any(label)
			if err := node.Check(); err != nil {
				t.Fatal(err)
			}
			if seen[node.Value()] {
				t.Fatalf("two nodes are called %s", node.Value())
			}
			seen[node.Value()] = true
		}
	})
}
