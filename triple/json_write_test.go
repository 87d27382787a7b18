// Tests of terms in JSON.

package triple

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAppendJSON(t *testing.T) {
	for _, test := range []struct {
		term Term
		want string
	}{
		{NewIRI("http://e.x/a"), `{"type":"uri","value":"http://e.x/a"}`},
		{NewBlank("b1"), `{"type":"bnode","value":"b1"}`},
		{NewString("a\"\\\n\r\t\x01é"), `{"type":"literal","value":"a\"\\\n\r\t\u0001é"}`},
		{NewLang("Mü", "de"), `{"type":"literal","value":"Mü","xml:lang":"de"}`},
		{NewTyped("01", XSDInteger), `{"type":"literal","value":"01","datatype":"http://www.w3.org/2001/XMLSchema#integer"}`},
	} {
		if got := string(AppendJSON(nil, test.term)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.term, got, test.want)
		}
	}
	s, p := NewIRI("a:s"), NewIRI("a:p")
	if got, want := string(AppendTripleJSON(nil, Triple{Subject: s, Predicate: p, Object: s, Graph: p})),
		`{"s":{"type":"uri","value":"a:s"},"p":{"type":"uri","value":"a:p"},"o":{"type":"uri","value":"a:s"},"g":{"type":"uri","value":"a:p"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The standard library's reader must return any string unchanged.
func TestAppendJSONString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		var back string
		if err := json.Unmarshal(AppendJSONString(nil, s), &back); err != nil {
			t.Fatal(err)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s)) // each invalid byte becomes U+FFFD
		}
		if back != want {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}
