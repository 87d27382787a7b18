// Tests of the canonical form.

package triple

import "testing"

// TestAppendCanonical covers what W3C's suite leaves open.
func TestAppendCanonical(t *testing.T) {
	s, p, g := NewIRI("x:s"), NewIRI("x:p"), NewBlank("g")
	for _, test := range []struct {
		object Term
		want   string
	}{
		{NewIRI("x:ü"), "<x:ü>"},
		{NewString(""), `""`},
		{NewString("plain ü 😀\u0080"), "\"plain ü 😀\u0080\""},
		{NewString("ü\b\t\n\v\f\r\"\\\x00\x7f"), `"ü\b\t\n\u000B\f\r\"\\\u0000\u007F"`},
		{NewString("\uFFFD\uFFFE\uFFFFend"), "\"\uFFFD" + `\uFFFE\uFFFFend"`},
		{NewLang("x\t", "de-AT"), `"x\t"@de-at`},
		{NewLang("x", "AR--rtl"), `"x"@ar--rtl`},
		{NewTyped("01\n", "x:T"), `"01\n"^^<x:T>`},
		{NewTripleTerm(s, p, NewTripleTerm(NewBlank("b"), p, NewLang("\t", "EN"))), `<<( <x:s> <x:p> <<( _:b <x:p> "\t"@en )>> )>>`},
	} {
		for _, graph := range []Term{{}, g} {
			want := "<x:s> <x:p> " + test.want + " .\n"
			if !graph.IsZero() {
				want = "<x:s> <x:p> " + test.want + " _:g .\n"
			}
			if got := string(AppendCanonical(nil, Triple{s, p, test.object, graph})); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}
