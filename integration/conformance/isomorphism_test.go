// Tests of isomorphism.

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

// edges makes a dataset of "a-b" edges between blank nodes; "a-B" in capitals
// makes an IRI of the object.
func edges(list string) []triple.Triple {
	var out []triple.Triple
	for _, edge := range strings.Fields(list) {
		s, o, _ := strings.Cut(edge, "-")
		t := triple.Triple{Subject: triple.NewBlank(s), Predicate: triple.NewIRI("x:p"), Object: triple.NewBlank(o)}
		if o == strings.ToUpper(o) {
			t.Object = triple.NewIRI("x:" + o)
		}
		out = append(out, t)
	}
	return out
}

func TestIsomorphic(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"empty", "", "", true},
		{"renamed", "a-b b-c", "z-x y-z", true},
		{"direction", "a-b c-b", "a-b b-c", false},
		{"repeated", "a-b a-b", "c-d", true},
		{"two triangles and a hexagon", "a-b b-c c-a d-e e-f f-d", "a-b b-c c-d d-e e-f f-a", false},
		{"two triangles", "a-b b-c c-a d-e e-f f-d", "r-s x-z z-y y-x s-t t-r", true},
		{"loop", "a-a", "a-b", false},
		{"with IRIs", "a-X b-Y a-b", "n-X m-Y n-m", true},
		{"with other IRIs", "a-X b-Y a-b", "n-X m-Y m-n", false},
		{"sizes", "a-b", "a-b b-a", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Isomorphic(edges(test.a), edges(test.b))
			if err != nil || got != test.want {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

// TestIsomorphicGraphNames: blank graph names are blank nodes too.
func TestIsomorphicGraphNames(t *testing.T) {
	in := func(graph string, list string) []triple.Triple {
		out := edges(list)
		for i := range out {
			out[i].Graph = triple.NewBlank(graph)
		}
		return out
	}
	if ok, err := Isomorphic(in("a", "a-X"), in("q", "q-X")); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	if ok, err := Isomorphic(in("a", "a-X"), in("q", "r-X")); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

// TestIsomorphicRenamed: any renaming is isomorphic, and not so with one more
// triple that differs.
func TestIsomorphicRenamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "nodes")
		names := rapid.Permutation([]string{"q", "r", "s", "t", "u", "v", "w", "x"}).Draw(t, "names")
		var a, b []string
		for range rapid.IntRange(1, 16).Draw(t, "edges") {
			x, y := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			a = append(a, fmt.Sprintf("n%d-n%d", x, y))
			b = append(b, names[x]+"-"+names[y])
		}
		if ok, err := Isomorphic(edges(strings.Join(a, " ")), edges(strings.Join(b, " "))); !ok || err != nil {
			t.Fatalf("got %v, %v", ok, err)
		}
		// The same with two nodes that different IRIs tell apart.
		a, b = append(a, "n0-X"), append(b, names[0]+"-Y")
		if ok, err := Isomorphic(edges(strings.Join(a, " ")), edges(strings.Join(b, " "))); ok || err != nil {
			t.Fatalf("with different IRIs: got %v, %v", ok, err)
		}
	})
}

// TestIsomorphicTripleTerms: blank nodes inside of triple terms count.
func TestIsomorphicTripleTerms(t *testing.T) {
	about := func(reifier, s, o string) triple.Triple {
		p := triple.NewIRI("x:p")
		inner := triple.NewTripleTerm(triple.NewBlank(s), p, triple.NewTripleTerm(triple.NewIRI("x:s"), p, triple.NewBlank(o)))
		return triple.Triple{Subject: triple.NewBlank(reifier), Predicate: triple.NewIRI(triple.RDFReifies), Object: inner}
	}
	for _, test := range []struct {
		a, b []triple.Triple
		want bool
	}{
		{[]triple.Triple{about("r", "s", "o")}, []triple.Triple{about("o", "r", "s")}, true},
		{[]triple.Triple{about("r", "s", "s")}, []triple.Triple{about("r", "s", "o")}, false},
		{[]triple.Triple{about("r", "r", "s")}, []triple.Triple{about("r", "s", "r")}, false},
		{[]triple.Triple{about("r", "s", "o"), about("q", "o", "s")}, []triple.Triple{about("a", "b", "c"), about("d", "c", "b")}, true},
		{[]triple.Triple{about("r", "s", "o"), about("q", "o", "s")}, []triple.Triple{about("a", "b", "c"), about("d", "b", "c")}, false},
	} {
		if got, err := Isomorphic(test.a, test.b); err != nil || got != test.want {
			t.Errorf("%v and %v: got %v, %v", test.a, test.b, got, err)
		}
	}
}
